//! The pages in Chromium. Every scenario fails at an error on the console, a request to another host, and a script or style
//! that the page's policy refuses.

use crate::browser::{run, run_without_authentication};

#[tokio::test]
async fn a_token_signs_in_and_ends_with_its_life() {
    run("sign-in", &[]).await;
}

#[tokio::test]
async fn the_list_pages_filters_and_changes_without_a_reload() {
    run("jobs", &[]).await;
}

#[tokio::test]
async fn pages_recover_when_the_controller_is_back() {
    run("outage", &[]).await;
}

#[tokio::test]
async fn the_page_of_a_job_explains_follows_and_labels_it() {
    run("job", &[]).await;
}

#[tokio::test]
async fn nodes_show_what_they_run_and_why_they_are_quarantined() {
    run("nodes", &[]).await;
}

#[tokio::test]
async fn readers_change_nothing_and_strangers_see_nothing() {
    run("rights", &[]).await;
}

#[tokio::test]
async fn names_and_messages_of_others_stay_text_and_other_sites_change_nothing() {
    run("attacks", &[]).await;
}

#[tokio::test]
async fn every_page_is_accessible_in_light_and_dark() {
    run("accessibility", &[]).await;
}

#[tokio::test]
async fn without_authentication_nobody_signs_in() {
    run_without_authentication("no-authentication").await;
}

#[tokio::test]
#[ignore = "writes pictures: make dashboard-screenshots"]
async fn screenshots() {
    run("screenshots", &[]).await;
}
