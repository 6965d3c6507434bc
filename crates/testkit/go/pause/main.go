// The program of the sandbox image, and a minimal tool to test a cluster's network.
//
//	pause                  wait for SIGTERM and reap orphans, as the first process of a Pod must
//	pause serve ADDR TEXT  answer every TCP connection to ADDR with TEXT
//	pause fetch ADDR       connect to ADDR (a name is resolved) and print the answer
//	pause dial ADDR...     connect to each ADDR and print "ADDR open" or "ADDR closed: REASON", in any order
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 0:
		pause()
	case len(args) == 3 && args[0] == "serve":
		err = serve(args[1], args[2])
	case len(args) == 2 && args[0] == "fetch":
		err = fetch(args[1])
	case len(args) > 1 && args[0] == "dial":
		dial(args[1:])
	default:
		err = fmt.Errorf("usage: pause | pause serve ADDR TEXT | pause fetch ADDR | pause dial ADDR...")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func pause() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	fmt.Println("waiting")
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if pid <= 0 || err != nil {
				break
			}
		}
	}
}

func serve(address, text string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	// The first process of a container has no default action for SIGTERM.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		os.Exit(0)
	}()
	fmt.Println("serving")
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		_, _ = io.WriteString(connection, text)
		_ = connection.Close()
	}
}

func fetch(address string) error {
	connection, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	answer, err := io.ReadAll(connection)
	if err != nil {
		return err
	}
	fmt.Println(string(answer))
	return nil
}

// All at once, so that timeouts do not add up. The timeout allows for one lost packet.
func dial(addresses []string) {
	lines := make(chan string)
	for _, address := range addresses {
		go func() {
			connection, err := net.DialTimeout("tcp", address, 2500*time.Millisecond)
			if err != nil {
				lines <- fmt.Sprintf("%s closed: %v", address, err)
				return
			}
			_ = connection.Close()
			lines <- address + " open"
		}()
	}
	for range addresses {
		fmt.Println(<-lines)
	}
}
