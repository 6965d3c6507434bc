//! Samples from programs on the same machine: a Unix stream socket, one JSON object per line.
//!
//! | line                                                              | answer                                               |
//! |-------------------------------------------------------------------|------------------------------------------------------|
//! | `{"job_id": "j", "features": [0.9, …], "true_score": 71.5}`       | `{"ok":true,"step":9,"trained":true,"loss":4.1,"job_id":"j"}` |
//! | the same, put aside for the gate                                  | `{"ok":true,"step":9,"trained":false,"job_id":"j"}`   |
//! | a good one that cannot be taken now                               | `{"ok":false,"retryable":true,"error":"…"}`           |
//! | anything else                                                     | `{"ok":false,"error":"…"}`                            |
//!
//! `features` are in the order of the base model and as many as it has. A bad line costs its sender an answer and
//! nothing else: the connection stays. Each client has one sample under way, and waits for its answer.
//!
//! Such samples have no cursor. They are kept from the next checkpoint on; a crash before that loses them, and their
//! senders are not told.

mod claim;
mod line;
mod serve;
mod wire;

pub use self::claim::{Claim, ClaimError};
pub use self::serve::{Offer, Socket};
pub use self::wire::{Answer, Offered};
