//! Random scenarios with working copies: the stock client, two users with a working copy each, with Subversion's
//! server and with Sven, with equal repositories at the start. After each step the output of the client and the files
//! on disk are equal on both sides. At the end the repositories are equal, and Subversion's `svnadmin verify` accepts
//! Sven's.
//!
//! The seed determines a scenario. A failing scenario is reduced to the necessary steps, which are printed as a
//! script. `SCENARIO_SEEDS=17,18` runs these; `SCENARIO_SECONDS=3600` runs new seeds, from `SCENARIO_FIRST` on, until
//! the time is over or `SCENARIO_COUNT` have run, and reports all differences at the end; `SCENARIO_STEPS` is the
//! number of client runs in each (40, or 50 with `SVEN_ALL_CASES`); `$SVEN_INTEROP_OVER` selects the transport. A
//! `TMPDIR` on a file system in memory makes it faster.

mod generator;
mod known;
mod local;
mod remote;
mod sandbox;
mod step;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use testkit::runs_all_cases;
use testkit::server::transport::Transport;

use generator::{COPIES, StepGenerator, View};
use known::{ScenarioDifference, known};
use sandbox::{Arena, Sandbox};
use step::{Run, ScenarioStep};

/// The counts of a run.
#[derive(Debug, Default)]
struct ScenarioCounts {
    scenarios: usize,
    /// The number of runs of the client, on each side.
    runs: usize,
    /// The numbers of runs with exit code 0 and of all runs, by subcommand.
    verbs: BTreeMap<String, [usize; 2]>,
    /// The number of scenarios that ended because Subversion's server crashed.
    died: usize,
    /// Known differences.
    known: usize,
    differ: Vec<u64>,
}

/// The result of a scenario.
struct Played {
    steps: Vec<ScenarioStep>,
    difference: Option<String>,
}

/// Runs the steps that `next` returns, until it returns none or there is a difference.
fn play(
    arena: &mut Arena,
    name: &str,
    count: &mut ScenarioCounts,
    mut next: impl FnMut(&View) -> Option<ScenarioStep>,
) -> Played {
    let mut sandboxes = arena.sandboxes(name);
    let mut steps = Vec::new();
    let mut difference = None;
    while let Some(step) = next(&View::of(&sandboxes[0])) {
        let output_text = both(&mut sandboxes, |sandbox| sandbox.run(&step));
        if let ScenarioStep::Svn(run) = &step {
            let verb = count.verbs.entry(run.verb().to_owned()).or_default();
            verb[0] += usize::from(output_text[0].ends_with("=> Some(0)\n"));
            verb[1] += 1;
            count.runs += 1;
        }
        steps.push(step);
        let is_run = matches!(steps.last(), Some(ScenarioStep::Svn(_)));
        let [theirs, ours] = arena.alive();
        if !theirs {
            count.died += 1;
            sandboxes.into_iter().for_each(Sandbox::remove);
            return Played { steps, difference };
        }
        if !ours {
            difference = Some("ours died".to_owned());
            break;
        }
        let mut output_text = output_text;
        if let Some(ScenarioStep::Svn(run)) = steps.last()
            && output_text[0] != output_text[1]
            && let Some(known) = known(run, arena.transport, &output_text)
        {
            count.known += 1;
            if known == ScenarioDifference::End {
                sandboxes.into_iter().for_each(Sandbox::remove);
                return Played { steps, difference };
            }
            output_text = Default::default();
        }
        difference = unlike(&output_text).or_else(|| is_run.then(|| unlike_disks(&sandboxes)).flatten());
        if difference.is_some() {
            break;
        }
    }
    if difference.is_none() {
        difference = unlike(&both(&mut sandboxes, finish));
    }
    sandboxes.into_iter().for_each(Sandbox::remove);
    Played { steps, difference }
}

/// Returns the state after a scenario.
fn finish(sandbox: &mut Sandbox) -> String {
    let mut out = String::new();
    for (dir, user) in COPIES {
        for args in [
            &["status", "-u", "-v"][..],
            &["proplist", "-v", "-R"],
            &["info", "-R"],
        ] {
            let args = args.iter().map(|arg| (*arg).to_owned()).collect();
            let run = Run {
                dir,
                user,
                args,
                save: None,
            };
            out += &sandbox.run(&ScenarioStep::Svn(run));
        }
    }
    out + &sandbox.left()
}

fn both<T: Send>(sandboxes: &mut [Sandbox; 2], act: impl Fn(&mut Sandbox) -> T + Sync) -> [T; 2] {
    let [theirs, ours] = sandboxes;
    std::thread::scope(|scope| {
        let ours = scope.spawn(|| act(ours));
        let theirs = act(theirs);
        [theirs, ours.join().expect("because our side runs")]
    })
}

fn unlike_disks(sandboxes: &[Sandbox; 2]) -> Option<String> {
    unlike(&sandboxes.each_ref().map(Sandbox::disk))
}

/// Returns the lines in which both differ.
fn unlike(texts: &[String; 2]) -> Option<String> {
    let [theirs, ours] = &testkit::server::cluster::comparable(texts.each_ref().map(String::as_str));
    if theirs == ours {
        return None;
    }
    let (theirs, ours): (Vec<&str>, Vec<&str>) = (theirs.lines().collect(), ours.lines().collect());
    let at = theirs.iter().zip(&ours).take_while(|(a, b)| a == b).count();
    let show = |lines: &[&str]| {
        let end = lines.len().min(at + 12);
        lines[at.saturating_sub(3).min(end)..end].join("\n")
    };
    Some(format!(
        "--- theirs\n{}\n--- ours\n{}\n",
        show(&theirs),
        show(&ours)
    ))
}

/// Runs the scenario of a seed. Returns the difference and prints the shortest script for it.
fn run(arena: &mut Arena, seed: u64, runs: usize, count: &mut ScenarioCounts) -> Option<String> {
    let mut generator = StepGenerator::new(seed, arena.transport);
    let mut left = runs;
    let played = play(arena, &format!("s{seed}"), count, |view| {
        if left == 0 {
            return None;
        }
        let step = generator.next(view);
        left -= usize::from(matches!(step, ScenarioStep::Svn(_)));
        Some(step)
    });
    count.scenarios += 1;
    if arena.alive() != [true, true] {
        *arena = Arena::new(arena.transport);
    }
    let found = played.difference?;
    let (steps, shorter) = shorten(arena, seed, played.steps);
    let mut text = format!("SCENARIO_SEEDS={seed} over {:?}\n{found}\n", arena.transport);
    match shorter {
        Some(shorter) if shorter != found => _ = write!(text, "cut down:\n{shorter}\n"),
        Some(_) => {}
        None => text += "not again with the same steps\n",
    }
    for step in steps {
        _ = writeln!(text, "{step}");
    }
    Some(text)
}

/// Removes steps as long as there is a difference without them.
fn shorten(arena: &mut Arena, seed: u64, steps: Vec<ScenarioStep>) -> (Vec<ScenarioStep>, Option<String>) {
    let begun = Instant::now();
    let mut tries = 0;
    let mut again = |steps: &[ScenarioStep]| {
        tries += 1;
        let mut steps = steps.iter().cloned();
        let played = play(
            arena,
            &format!("s{seed}-{tries}"),
            &mut ScenarioCounts::default(),
            |_| steps.next(),
        );
        if arena.alive() != [true, true] {
            *arena = Arena::new(arena.transport);
        }
        played.difference
    };
    let mut found = again(&steps);
    let mut steps = steps;
    if found.is_none() {
        return (steps, None);
    }
    let mut size = steps.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(at..(at + size).min(steps.len()));
            match again(&fewer) {
                Some(difference) => {
                    found = Some(difference);
                    steps = fewer;
                }
                None => at += size,
            }
            if begun.elapsed() > Duration::from_secs(180) {
                return (steps, found);
            }
        }
        size /= 2;
    }
    (steps, found)
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.trim().parse().unwrap_or_else(|_| panic!("{name}: a number")))
}

fn scenarios(transport: Transport, [short, whole]: [u64; 2]) {
    let (usual, usual_steps) = if runs_all_cases() {
        (whole, 50)
    } else {
        (short, 40)
    };
    let mut arena = Arena::new(transport);
    let mut count = ScenarioCounts::default();
    let runs = number("SCENARIO_STEPS").unwrap_or(usual_steps) as usize;
    let mut found = Vec::new();
    let mut one = |arena: &mut Arena, seed, count: &mut ScenarioCounts| {
        if let Some(text) = run(arena, seed, runs, count) {
            eprintln!("{text}");
            count.differ.push(seed);
            found.push(text);
        }
    };
    if let Ok(seeds) = std::env::var("SCENARIO_SEEDS") {
        for seed in seeds.split(',') {
            one(
                &mut arena,
                seed.trim().parse().expect("SCENARIO_SEEDS: numbers"),
                &mut count,
            );
        }
    } else {
        let seconds = number("SCENARIO_SECONDS").map(Duration::from_secs);
        let first = number("SCENARIO_FIRST").unwrap_or(1);
        let many = number("SCENARIO_COUNT").unwrap_or(if seconds.is_some() { u64::MAX } else { usual });
        let begun = Instant::now();
        for seed in (first..).take_while(|seed| seed - first < many) {
            if seconds.is_some_and(|seconds| begun.elapsed() > seconds) {
                break;
            }
            one(&mut arena, seed, &mut count);
        }
    }
    if std::env::vars().any(|(name, _)| name.starts_with("SCENARIO_")) {
        eprintln!("{transport:?}: {count:?}");
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn random_scenarios_have_equal_results() {
    scenarios(Transport::chosen(Transport::Svn), [2, 4]);
}

#[test]
fn random_scenarios_over_http_have_equal_results() {
    // With a selected transport the other test runs it.
    if std::env::var_os("SVEN_INTEROP_OVER").is_none() {
        scenarios(Transport::Http, [1, 3]);
    }
}
