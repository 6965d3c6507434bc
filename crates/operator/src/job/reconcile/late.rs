//! A pass over a job that has ended and has a new ground truth.

use vmafx_api::VmafxJob;

use super::{JobReconciler, failure};
use crate::job::Seen;
use crate::job::label::{self, Late};
use crate::job::link::Labelled;
use crate::job::plan::{Remote, Why};
use crate::runtime::ReconcileError;

impl JobReconciler {
    /// Tells the controller what viewers say of a job that has ended. Once for each change of the resource: its
    /// generation is written, with the answer or without.
    pub(super) async fn label_late(&self, job: &VmafxJob) -> Result<(), ReconcileError> {
        let told = match label::late(job) {
            Late::Tell { id, value } => self.tell(id, value).await.map_err(failure)?,
            Late::Useless(why) => Labelled::Refused(why.to_owned()),
        };
        let after = label::after(job, &told);
        let Some(written) = crate::status::apply(&self.client, job, &after).await? else { return Ok(()) };
        self.jobs.put(Seen::from(written));
        if let (Labelled::Refused(why), Some(value)) = (&told, job.spec.ground_truth) {
            self.recorder.publish(job, &label::refused(value, why)).await;
        }
        Ok(())
    }

    async fn tell(&self, id: &str, value: f64) -> Result<Labelled, Why> {
        if let Some(why) = self.is_away() {
            return Err(why);
        }
        match self.link.ask(id).await {
            // Told before, and the record was lost: another sample would be one too many.
            Remote::Job(live) if label::of(&live) == Some(value) => Ok(Labelled::Taken),
            Remote::Job(_) => self.link.label(id, value).await,
            Remote::Unreachable(why) => Err(why),
            Remote::NotAsked | Remote::Refused(_) | Remote::Missing => {
                Ok(Labelled::Refused(label::FORGOTTEN.to_owned()))
            }
        }
    }
}
