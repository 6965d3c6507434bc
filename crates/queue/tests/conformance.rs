//! The rules of the queue, checked on every store.
//!
//! A case is one function that gets a fresh store and checks one rule. It is listed once, at the end of this file,
//! and becomes a test for each store, so that a failure names the rule and the store:
//! `sqlite::a_job_is_handed_out_once`. A case that is not listed is unused code, which the linter rejects.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of a test may fail it")]

#[path = "support/support.rs"]
#[allow(dead_code, reason = "the model test uses the other part of it")]
mod support;

mod conformance {
    pub(crate) mod changes;
    pub(crate) mod claim;
    pub(crate) mod clock;
    pub(crate) mod end;
    pub(crate) mod fence;
    pub(crate) mod heartbeat;
    pub(crate) mod label;
    pub(crate) mod life;
    pub(crate) mod limits;
    pub(crate) mod list;
    pub(crate) mod lost;
    pub(crate) mod lost_pull;
    pub(crate) mod notifications;
    pub(crate) mod prune;
    pub(crate) mod quarantine;
    pub(crate) mod race;
    pub(crate) mod retry;
    pub(crate) mod submit;
    pub(crate) mod sweep;
    pub(crate) mod tenants;
    pub(crate) mod update;
    pub(crate) mod values;
    pub(crate) mod view;
}

/// Checks that the cases that guard a rule fail on a store that breaks it.
mod sabotage {
    use std::panic::AssertUnwindSafe;

    use futures::FutureExt;

    use crate::conformance::{
        claim, end, fence, heartbeat, limits, lost, lost_pull, quarantine, race, retry, submit, sweep, update,
    };
    use crate::support::fixture::Fixture;
    use crate::support::sabotage::Broken;
    use crate::support::stores::StoreKind;

    async fn fails_on(broken: Broken, case: impl AsyncFnOnce(Fixture)) {
        let fixture = Fixture::new(StoreKind::Sabotaged(broken)).await;
        assert!(
            AssertUnwindSafe(case(fixture)).catch_unwind().await.is_err(),
            "the case does not notice {broken:?}"
        );
    }

    macro_rules! guards {
        ($($broken:ident: [$($group:ident::$case:ident),*],)*) => {
            $($(
                #[tokio::test]
                async fn $case() {
                    fails_on(Broken::$broken, $group::$case).await;
                }
            )*)*
        };
    }

    guards! {
        Fencing: [
            fence::a_late_report_cannot_end_the_attempt_of_another_node,
            fence::another_node_cannot_report_a_running_job
        ],
        Attempts: [fence::a_late_report_cannot_end_a_newer_attempt_of_the_same_node],
        ClaimOrder: [
            claim::the_highest_priority_goes_first_and_then_the_oldest,
            claim::a_job_gains_on_later_ones_of_a_higher_priority,
            claim::one_order_holds_across_all_backends_of_a_node
        ],
        SweepGap: [
            sweep::a_sweep_that_comes_late_gives_every_lease_its_full_time_again
        ],
        Idempotency: [
            submit::a_known_key_finds_the_first_job_and_stores_nothing,
            submit::a_key_is_known_after_its_job_has_ended
        ],
        KeyDigest: [submit::a_known_key_with_another_request_is_refused],
        KeyOwner: [submit::nobody_can_take_the_key_of_another_submitter],
        BackoffLimit: [sweep::a_clock_that_is_set_back_lengthens_no_backoff_beyond_its_maximum],
        LostLimit: [
            lost::the_third_lost_attempt_fails_the_job,
            lost::a_submitter_may_allow_fewer_losses
        ],
        Retries: [
            retry::a_failure_of_the_node_or_the_moment_requeues_the_job,
            retry::what_two_nodes_miss_is_the_jobs_fault
        ],
        Avoidance: [retry::a_job_is_kept_from_the_node_that_failed_it_while_another_can_run_it],
        Quarantine: [quarantine::three_failures_in_a_row_quarantine_a_node],
        Release: [end::a_released_job_waits_again_at_once],
        Leases: [heartbeat::a_heartbeat_extends_the_leases_it_names_and_no_others],
        LostPulls: [lost_pull::a_job_of_a_lost_pull_waits_again_at_once_and_no_attempt_is_lost],
        Limits: [
            limits::a_tenant_with_as_many_waiting_jobs_as_it_may_have_submits_no_more,
            limits::requests_and_results_take_room_until_they_are_removed,
            limits::a_tenant_runs_no_more_jobs_than_it_may,
            limits::a_tenant_has_no_more_sessions_than_it_may
        ],
        Slots: [
            limits::a_node_holds_no_more_jobs_than_it_has_slots,
            limits::concurrent_claims_of_a_session_do_not_exceed_its_slots
        ],
        Updates: [update::a_running_attempt_keeps_its_request_and_the_next_one_gets_the_new],
        Atomicity: [
            race::concurrent_submissions_with_one_key_make_one_job,
            race::each_of_many_jobs_is_claimed_exactly_once
        ],
    }
}

/// Generates a module of tests for each store.
macro_rules! suite {
    ($($list:tt)*) => {
        /// The reference implementation must keep the rules too.
        mod reference {
            cases!(crate::support::stores::StoreKind::Reference; $($list)*);
        }

        mod sqlite {
            cases!(crate::support::stores::StoreKind::Sqlite; $($list)*);
        }

        mod postgres {
            cases!(crate::support::stores::StoreKind::Postgres; $($list)*);
        }
    };
}

/// Generates a test of each case for one store.
macro_rules! cases {
    ($kind:expr; $($group:ident: [$($case:ident,)*],)*) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let fixture = crate::support::fixture::Fixture::new($kind).await;
                crate::conformance::$group::$case(fixture).await;
            }
        )*)*
    };
}

suite! {
    claim: [
        the_highest_priority_goes_first_and_then_the_oldest,
        a_job_gains_on_later_ones_of_a_higher_priority,
        jobs_of_one_instant_go_by_id,
        negative_priorities_wait_behind_everything_else,
        a_node_gets_jobs_of_its_backends_and_jobs_that_ask_for_none,
        a_node_without_backends_gets_only_jobs_that_ask_for_none,
        one_order_holds_across_all_backends_of_a_node,
        a_backend_named_twice_is_served_once,
        backends_are_compared_to_the_letter,
        the_backends_of_the_call_count_and_not_those_of_registration,
        a_job_behind_many_that_do_not_fit_is_found,
        a_claimed_job_says_who_holds_it_since_when_and_until_when,
        a_job_is_handed_out_once,
        an_empty_queue_has_nothing,
        a_claim_needs_its_own_session,
    ],
    limits: [
        a_tenant_with_as_many_waiting_jobs_as_it_may_have_submits_no_more,
        a_known_key_finds_its_job_at_every_limit,
        a_job_that_waits_no_more_makes_room,
        what_returns_to_the_queue_is_never_refused_and_takes_room,
        requests_and_results_take_room_until_they_are_removed,
        a_request_does_not_grow_beyond_the_limit_and_may_shrink,
        a_tenant_runs_no_more_jobs_than_it_may,
        a_node_holds_no_more_jobs_than_it_has_slots,
        a_job_whose_assignment_was_lost_takes_a_slot_until_its_pull_is_named,
        slots_are_counted_by_session_and_a_node_without_any_has_one,
        a_tenant_has_no_more_sessions_than_it_may,
        at_the_limit_a_registration_replaces_the_oldest_session_of_its_name,
        what_a_tenant_holds_is_known_after_a_restart,
        nothing_is_counted_twice_or_left_over,
        concurrent_submissions_do_not_exceed_the_limit,
        concurrent_claims_of_a_session_do_not_exceed_its_slots,
        a_claim_at_a_limit_still_needs_its_own_session,
    ],
    lost: [
        a_lost_job_is_pending_again_after_a_backoff,
        a_lease_ends_at_its_instant_and_not_before,
        backoffs_double_up_to_the_maximum,
        a_backoff_ends_at_its_instant_and_not_before,
        an_empty_claim_names_the_next_backoff_end_that_would_fit,
        a_pausing_job_holds_nobody_up_and_keeps_its_place,
        the_third_lost_attempt_fails_the_job,
        a_submitter_may_allow_fewer_losses,
        a_submitter_may_allow_more_losses,
        attempts_that_were_given_back_are_not_counted_as_lost,
        a_reported_failure_is_not_tried_again,
        a_pausing_job_can_be_cancelled,
    ],
    retry: [
        a_failure_of_the_node_or_the_moment_requeues_the_job,
        a_failure_of_the_job_or_its_input_is_final_at_once,
        the_last_allowed_failure_is_final_and_keeps_its_reason,
        lost_and_failed_attempts_count_together,
        a_repeated_report_of_a_retried_attempt_has_no_effect,
        a_job_is_kept_from_the_node_that_failed_it_while_another_can_run_it,
        a_job_that_nobody_else_takes_returns_to_the_node_that_failed_it,
        a_job_is_not_kept_from_the_only_node_that_can_run_it,
        jobs_that_are_kept_from_a_node_hold_up_no_other_job,
        only_a_bounded_number_of_jobs_is_kept_from_a_node,
        what_two_nodes_miss_is_the_jobs_fault,
        what_one_node_misses_is_final_when_its_attempts_are_used_up,
        what_a_job_avoids_survives_a_restart,
    ],
    quarantine: [
        three_failures_in_a_row_quarantine_a_node,
        failures_that_are_not_the_nodes_do_not_count,
        a_score_ends_the_count,
        a_quarantined_node_gets_one_job_on_trial_at_the_end_of_each_pause,
        a_successful_trial_ends_the_quarantine,
        a_trial_without_a_job_starts_no_new_pause,
        a_quarantine_survives_restarts_of_the_node_and_of_the_store,
        a_node_that_nobody_can_stand_in_for_is_tried_more_often,
        failures_that_another_node_repeats_are_withdrawn,
        a_quarantine_is_of_one_tenant,
    ],
    lost_pull: [
        a_job_of_a_lost_pull_waits_again_at_once_and_no_attempt_is_lost,
        only_the_named_pulls_of_a_session_are_given_back,
        a_lost_pull_may_be_named_again,
        a_claim_that_came_after_its_pull_was_named_is_given_back_when_named_again,
    ],
    fence: [
        a_score_ends_the_job,
        an_error_ends_the_job_with_its_text_and_reason,
        a_reason_newer_than_this_program_is_kept,
        a_late_report_cannot_end_the_attempt_of_another_node,
        a_late_report_cannot_end_a_newer_attempt_of_the_same_node,
        a_late_failure_cannot_end_a_job_that_waits_again,
        a_late_score_ends_a_job_that_nobody_claimed_since_and_nothing_is_lost,
        a_late_score_of_an_evicted_session_counts_too,
        an_evicted_session_cannot_end_an_attempt_that_another_node_claimed,
        a_late_score_does_not_revive_a_job_that_failed_by_its_last_loss,
        a_lease_that_ran_out_is_good_until_the_sweep_ends_it,
        without_a_number_the_attempt_held_or_held_last_is_meant,
        attempts_that_never_were_cannot_be_reported,
        a_job_that_never_was_cannot_be_reported,
        another_node_cannot_report_a_running_job,
        a_namesake_is_another_session,
        a_report_needs_its_own_session,
        a_report_may_be_repeated,
        a_failure_may_be_repeated,
        a_report_after_a_cancel_is_a_success_without_effect,
        a_report_after_a_release_is_fenced,
        an_attempt_that_expired_stays_fenced_after_a_cancel,
    ],
    submit: [
        a_job_is_stored_as_it_was_submitted,
        omitted_fields_have_their_defaults,
        ids_sort_by_age,
        a_known_key_finds_the_first_job_and_stores_nothing,
        a_first_submission_is_not_deduplicated,
        without_a_key_every_call_makes_a_job,
        keys_are_compared_to_the_letter,
        two_tenants_may_use_one_key,
        a_key_is_known_after_its_job_has_ended,
        a_label_with_a_known_key_makes_no_sample,
        a_known_key_with_another_request_is_refused,
        a_resource_finds_its_job_also_after_it_was_changed,
        nobody_can_take_the_key_of_another_submitter,
        a_key_without_a_submitter_is_known_to_all,
        jobs_keep_their_order_when_the_clock_is_set_back,
        an_unknown_job_is_not_there,
    ],
    end: [
        a_waiting_job_can_be_cancelled,
        a_cancelled_job_keeps_the_cause_of_the_first_cancel,
        a_running_job_can_be_cancelled,
        a_cancel_needs_no_reason,
        an_ended_job_is_left_alone_by_a_cancel,
        a_released_job_waits_again_at_once,
        a_released_job_keeps_its_place,
        an_attempt_that_is_over_cannot_be_released,
        only_the_holder_of_the_running_attempt_can_release_it,
        a_waiting_job_fails_when_its_time_is_up,
        a_running_job_fails_when_its_time_is_up,
        a_job_out_of_time_fails_for_that_reason_also_when_its_lease_ran_out,
        a_deadline_that_passed_is_good_until_the_sweep_ends_the_job,
        a_job_that_ended_in_time_stays_as_it_is,
        a_deadline_goes_on_through_losses_and_releases,
        a_session_cannot_be_guessed,
    ],
    update: [
        a_waiting_job_changes_at_once_and_nothing_else_of_it,
        a_changed_job_keeps_its_place,
        a_running_attempt_keeps_its_request_and_the_next_one_gets_the_new,
        a_lost_attempt_is_followed_by_one_with_the_new_request,
        a_job_that_ends_while_it_waits_shows_its_last_change,
        a_score_is_recorded_with_the_request_that_it_is_of,
        a_finished_job_is_left_alone_by_an_update,
        an_update_without_a_difference_changes_nothing,
        a_new_deadline_counts_from_the_submission,
        a_lower_limit_of_losses_counts_at_the_next_loss,
        an_update_is_a_change_of_its_tenants_job_only,
    ],
    heartbeat: [
        a_heartbeat_extends_the_leases_it_names_and_no_others,
        a_heartbeat_does_not_extend_the_lease_of_another_node,
        a_heartbeat_tells_what_was_cancelled_and_what_was_lost_in_the_order_given,
        a_heartbeat_may_name_sixty_four_jobs,
        a_heartbeat_changes_no_revision_and_announces_nothing,
        progress_is_seen_by_every_reader,
        progress_ends_with_its_attempt,
        progress_of_an_older_attempt_is_ignored,
        progress_of_another_nodes_job_is_ignored,
        a_heartbeat_needs_its_own_session,
        a_session_ends_at_its_instant_and_not_before,
        only_the_sweep_ends_a_session,
        a_heartbeat_keeps_a_session_alive,
        an_evicted_session_is_over_for_good,
        jobs_of_an_evicted_session_wait_for_their_leases,
        a_node_that_registers_again_is_a_second_session,
        a_job_claimed_and_lost_by_one_may_be_finished_by_another,
        an_empty_heartbeat_is_one,
    ],
    sweep: [
        a_sweep_with_nothing_to_end_ends_nothing,
        a_sweep_that_comes_in_time_ends_a_lease,
        a_sweep_that_comes_late_gives_every_lease_its_full_time_again,
        a_renewed_lease_still_expires,
        a_sweep_that_comes_late_gives_every_session_its_full_time_again,
        a_clock_that_jumps_ahead_costs_nobody_a_lease,
        a_clock_that_jumps_back_costs_nobody_a_lease,
        a_step_of_the_clock_expires_no_lease_and_holds_none_for_ever,
        a_clock_that_is_set_back_lengthens_no_backoff_beyond_its_maximum,
        a_late_sweep_ends_no_deadline_but_the_next_one_does,
        two_sweeps_at_one_instant_are_as_good_as_one,
        a_sweep_covers_all_tenants,
        more_than_a_thousand_leases_end_in_several_sweeps,
        a_lease_shorter_than_a_session_ends_first,
    ],
    clock: [
        a_step_ahead_fails_no_job_before_its_time,
        a_step_back_lets_deadlines_end_in_time,
        a_deadline_that_is_changed_after_a_step_counts_from_the_submission,
        a_step_neither_shortens_nor_lengthens_a_backoff,
        a_job_of_an_earlier_start_loses_no_time,
        a_corrected_clock_moves_no_job_into_the_future,
        a_job_without_a_deadline_that_can_be_reached_survives_a_step,
        a_job_without_a_deadline_has_none_after_a_step,
        a_step_ahead_removes_no_fresh_result,
    ],
    label: [
        a_label_at_submission_makes_a_sample_at_the_end,
        a_waiting_job_can_be_labelled,
        a_running_job_can_be_labelled,
        a_later_label_replaces_an_earlier_one_before_the_end,
        a_completed_job_becomes_a_sample_at_once_and_again_with_every_label,
        a_failed_or_cancelled_job_cannot_be_labelled,
        a_job_can_be_labelled_by_its_key,
        a_key_means_the_job_of_the_caller_or_else_the_only_one,
        a_job_that_is_not_there_cannot_be_labelled,
        zero_and_the_best_are_labels,
        a_sample_has_the_labels_of_the_node_that_scored_it,
        a_sample_names_who_gave_its_label,
        samples_come_in_pages_that_continue_where_they_ended,
        a_reader_of_samples_may_continue_after_any_of_them,
        an_empty_stream_of_samples_has_a_place_to_continue_from,
        a_foreign_cursor_of_samples_is_refused,
    ],
    changes: [
        nothing_changed_since_now,
        every_kind_of_change_is_in_the_feed,
        ends_without_a_report_are_notified,
        several_changes_of_a_job_are_read_as_the_last_one,
        changes_come_in_pages_that_continue_where_they_ended,
        a_reader_may_continue_after_any_change,
        a_cursor_can_be_used_again,
        a_job_that_changes_between_two_pages_comes_later,
        a_cursor_survives_a_restart,
        a_snapshot_and_the_changes_after_it_miss_nothing,
        a_foreign_cursor_is_refused,
    ],
    list: [
        an_empty_filter_matches_everything_by_creation,
        jobs_of_one_instant_are_listed_by_id,
        pages_continue_in_both_directions,
        pages_of_a_filter_hold_only_what_matches,
        a_list_can_be_of_some_states,
        a_list_can_be_of_an_origin_in_every_part_that_is_named,
        an_origin_without_parts_matches_every_job,
        a_list_can_be_of_some_ids,
        a_list_can_be_of_a_thousand_ids,
        the_parts_of_a_filter_hold_together,
        a_list_holds_whole_jobs,
        a_list_has_at_most_what_was_asked_for,
    ],
    tenants: [
        a_job_of_another_tenant_is_not_there,
        a_node_gets_only_jobs_of_its_tenant,
        a_node_of_another_tenant_can_do_nothing_with_a_job,
        a_cancelled_job_of_another_tenant_is_lost_and_not_cancelled,
        a_session_is_of_one_tenant,
        a_node_that_is_shared_holds_jobs_of_each_tenant_apart,
        derived_credentials_open_nothing_by_themselves,
        a_derived_session_is_opened_once,
        changes_and_samples_are_of_one_tenant,
        explanations_count_only_what_the_tenant_can_use,
        tenants_with_odd_names_are_told_apart,
    ],
    view: [
        those_ahead_are_counted,
        only_those_count_that_compete_for_the_same_nodes,
        jobs_in_backoff_running_or_finished_are_not_ahead,
        every_backend_is_counted_and_every_node_once,
        a_job_without_nodes_has_no_supply,
        a_running_job_and_one_that_is_over_are_explained_too,
        nodes_are_listed_by_name_and_then_session_with_their_registration,
        a_node_that_says_nothing_about_itself_is_a_node,
        a_node_holds_what_the_queue_counts,
        nodes_of_resources_are_shown_for_all_tenants,
        numbers_are_counted_by_tenant,
        an_empty_store_has_no_numbers,
    ],
    prune: [
        what_is_young_and_few_is_kept,
        old_jobs_are_removed_with_their_attempts,
        age_counts_from_the_end_and_not_from_the_beginning,
        of_too_many_jobs_the_ones_that_ended_last_are_kept,
        every_tenant_is_counted_apart,
        a_job_that_is_not_over_is_never_removed,
        all_three_kinds_of_end_are_removed,
        a_batch_is_not_exceeded_and_the_rest_follows,
        samples_are_kept_by_their_own_age_and_number,
        a_sample_outlives_its_job,
        a_cursor_is_good_after_what_it_saw_was_removed,
        a_reader_that_starts_after_all_were_removed_can_continue,
        a_reader_that_missed_samples_is_told_and_may_begin_again,
        the_key_of_a_removed_job_can_be_used_again,
    ],
    notifications: [
        a_submission_is_work_and_a_change,
        a_notification_names_its_tenant,
        a_release_is_work_and_a_change,
        a_lost_job_is_work_when_its_backoff_ends,
        a_sample_is_notified,
        claims_reports_cancels_and_labels_are_changes,
        every_subscriber_is_notified,
        what_is_told_can_be_seen,
    ],
    life: [
        an_open_store_is_ready,
        everything_survives_a_restart,
        a_restart_costs_nobody_a_session_or_a_lease,
        the_first_sweep_after_a_long_restart_renews_leases,
        waiting_jobs_keep_their_order_over_a_restart,
        a_closed_store_says_so,
        what_was_acknowledged_before_a_close_is_kept,
    ],
    values: [
        texts_of_a_job_come_back_as_they_were,
        keys_come_back_as_they_were,
        texts_of_nodes_and_reports_come_back_as_they_were,
        numbers_come_back_to_the_last_bit,
        a_result_may_have_many_features_or_none,
        progress_may_be_as_large_as_a_count_can_be,
        limits_as_large_as_a_number_can_be_are_kept,
        a_long_text_is_kept_whole,
    ],
    race: [
        each_of_many_jobs_is_claimed_exactly_once,
        concurrent_submissions_with_one_key_make_one_job,
        of_a_cancel_and_a_report_exactly_one_ends_the_job,
        of_a_cancel_and_a_claim_neither_is_lost,
        of_two_reports_exactly_one_ends_the_job,
        of_a_release_and_a_report_one_is_refused,
        a_reader_of_changes_sees_every_job_in_its_last_state,
        a_reader_of_samples_sees_each_exactly_once,
        sweeps_at_once_count_a_loss_once,
    ],
}
