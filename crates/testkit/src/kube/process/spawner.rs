//! The thread that is the parent of every child.

use std::io;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

struct Order {
    command: Command,
    reply: Sender<io::Result<Child>>,
}

/// Starts a command from a thread that lives as long as this process.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    static ORDERS: OnceLock<Sender<Order>> = OnceLock::new();
    let orders = ORDERS.get_or_init(|| {
        let (orders, inbox) = channel::<Order>();
        // Never ends: the static keeps the sending side open. If the thread cannot be made, the send below fails.
        let _ = thread::Builder::new().name("spawner".into()).spawn(move || {
            for mut order in inbox {
                let _ = order.reply.send(order.command.spawn());
            }
        });
        orders
    });
    let (reply, answer) = channel();
    let gone = || io::Error::other("the thread that starts processes is gone");
    orders.send(Order { command, reply }).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}
