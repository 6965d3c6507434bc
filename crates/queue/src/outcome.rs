//! How attempts end.

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttemptOutcome {
    /// With a score.
    Completed,
    /// With an error, or because the job ran out of time.
    Failed,
    /// Given back.
    Released,
    /// Its lease ran out.
    Expired,
    /// The job was cancelled.
    Cancelled,
}

impl AttemptOutcome {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Completed, Self::Failed, Self::Released, Self::Expired, Self::Cancelled];

    /// The word that is stored.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }

    /// The outcome of a stored word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.word() == word)
    }
}
