// The program of the sandbox image, and a minimal tool to test a cluster's network.
//
//	pause                  wait for SIGTERM and reap orphans, as the first process of a Pod must
//	pause serve ADDR TEXT  answer every TCP connection to ADDR with TEXT
//	pause fetch ADDR       connect to ADDR (a name is resolved) and print the answer
//	pause dial ADDR...     connect to each ADDR and print "ADDR open" or "ADDR closed: REASON", in any order
//	pause capture PORT...  until standard input ends, print "FROM TO HEX" for the first bytes that each side of a new
//	                       TCP connection to one of the ports sends
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"slices"
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
	case len(args) > 1 && args[0] == "capture":
		err = capture(args[1:])
	default:
		err = fmt.Errorf("usage: pause | pause serve ADDR TEXT | pause fetch ADDR | pause dial ADDR... | pause capture PORT...")
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

// Only IPv4. A connection counts from its SYN on, because the middle of an older one begins with any byte.
func capture(ports []string) error {
	// A socket for one protocol alone does not get the packets that this network sends.
	const protocol = syscall.ETH_P_ALL<<8&0xff00 | syscall.ETH_P_ALL>>8 // in network byte order
	socket, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_DGRAM, protocol)
	if err != nil {
		return fmt.Errorf("cannot open a packet socket: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println("capturing")
	type direction struct{ from, to netip.AddrPort }
	silent := map[direction]bool{}
	packet := make([]byte, 65536)
	for {
		length, _, err := syscall.Recvfrom(socket, packet, 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot read packets: %w", err)
		}
		from, to, syn, payload, ok := tcp(packet[:length])
		if !ok {
			continue
		}
		there, back := direction{from, to}, direction{to, from}
		if syn && slices.Contains(ports, fmt.Sprint(to.Port())) {
			silent[there], silent[back] = true, true
		}
		if len(payload) > 0 && silent[there] {
			delete(silent, there)
			fmt.Printf("%v %v %x\n", from, to, payload[:min(len(payload), 16)])
		}
	}
}

// The parts of an IPv4 packet with TCP; syn is set for the first packet of a client.
func tcp(packet []byte) (from, to netip.AddrPort, syn bool, payload []byte, ok bool) {
	if len(packet) < 20 || packet[0]>>4 != 4 || packet[9] != syscall.IPPROTO_TCP {
		return
	}
	header, total := int(packet[0]&15)*4, int(binary.BigEndian.Uint16(packet[2:]))
	if header < 20 || total < header+20 || total > len(packet) {
		return
	}
	segment := packet[header:total]
	data := int(segment[12]>>4) * 4
	if data < 20 || data > len(segment) {
		return
	}
	source, _ := netip.AddrFromSlice(packet[12:16])
	destination, _ := netip.AddrFromSlice(packet[16:20])
	from = netip.AddrPortFrom(source, binary.BigEndian.Uint16(segment))
	to = netip.AddrPortFrom(destination, binary.BigEndian.Uint16(segment[2:]))
	syn = segment[13]&0x12 == 0x02
	return from, to, syn, segment[data:], true
}
