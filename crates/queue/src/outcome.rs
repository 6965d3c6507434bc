//! How attempts end.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptOutcome {
    Completed,
    /// The node reported a failure, or the job reached its deadline. The job may have been requeued.
    Failed,
    /// The node gave the attempt back.
    Released,
    Expired,
    Cancelled,
}

impl AttemptOutcome {
    pub const ALL: [Self; 5] =
        [Self::Completed, Self::Failed, Self::Released, Self::Expired, Self::Cancelled];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}
