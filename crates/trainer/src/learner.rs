//! The learner: a model that moves with each sample. Pure: no clock, no network, no randomness of its own.
