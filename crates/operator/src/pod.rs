//! Pods, whatever makes them: the parts that are the same for all, and what users merge over them.

pub mod merge;
pub mod room;
pub mod skeleton;
pub mod template;
