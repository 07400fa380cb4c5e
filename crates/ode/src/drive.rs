//! The one loop around every solver: events, stops, samples.

use crate::solver::{Failure, FailureKind, Solver, Work};
use crate::system::System;
use std::fmt;

/// Times closer than this part of a step are one.
const SAME: f64 = 1e-6;
/// Stops that are located within one step of a fixed-step method: what meets more of them chatters,
/// and the work of a step is bounded.
const STOPS_PER_STEP: usize = 4;
/// Bisections of the continuous extension per try: the step over 2⁴⁰.
const BISECTIONS: usize = 40;

/// Sees what a run produces.
pub trait Observer<S: ?Sized> {
    /// The state at a time that was asked for.
    fn sample(&mut self, system: &mut S, time: f64, x: &[f64]) {
        let _ = (system, time, x);
    }

    /// The state after a step that was kept, put onto its stops. False stops the run there.
    fn kept(&mut self, system: &mut S, time: f64, x: &[f64]) -> bool {
        let _ = (system, time, x);
        true
    }
}

/// Sees nothing.
impl<S: ?Sized> Observer<S> for () {}

/// A closure sees samples.
impl<S: ?Sized, F: FnMut(f64, &[f64])> Observer<S> for F {
    fn sample(&mut self, _: &mut S, time: f64, x: &[f64]) {
        self(time, x);
    }
}

/// The times at which samples are wanted, in rising order.
pub struct Samples<'a> {
    times: Times<'a>,
    next: f64,
    // A time that rounding puts this little beyond the end of a step belongs to the end.
    slack: f64,
}

enum Times<'a> {
    Every { start: f64, interval: f64, count: u64 },
    At(Box<dyn Iterator<Item = f64> + Send + 'a>),
}

impl fmt::Debug for Samples<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Samples").field("next", &self.next).finish_non_exhaustive()
    }
}

impl<'a> Samples<'a> {
    /// No samples.
    pub fn none() -> Self {
        Self::at([])
    }

    /// At start + k·interval, each computed anew.
    pub fn every(start: f64, interval: f64) -> Self {
        if !(interval > 0.0 && interval.is_finite()) {
            return Self::none();
        }
        let times = Times::Every { start, interval, count: 0 };
        Self { times, next: start, slack: 1e-9 * interval }
    }

    /// At given times.
    pub fn at<I>(times: I) -> Self
    where
        I: IntoIterator<Item = f64>,
        I::IntoIter: Send + 'a,
    {
        let mut times = times.into_iter();
        let next = times.next().unwrap_or(f64::INFINITY);
        Self { times: Times::At(Box::new(times)), next, slack: 0.0 }
    }

    /// The next time; infinite when there is none.
    pub fn next(&self) -> f64 {
        self.next
    }

    fn advance(&mut self) {
        self.next = match &mut self.times {
            Times::Every { start, interval, count } => {
                *count += 1;
                *start + *count as f64 * *interval
            }
            Times::At(times) => times.next().unwrap_or(f64::INFINITY),
        };
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// At the time that was asked for.
    Reached,
    /// The observer stopped it.
    Stopped,
}

/// A run that can be advanced piece by piece. After a failure it stands where the last kept step
/// ended.
pub struct Driver {
    solver: Box<dyn Solver>,
    start: f64,
    time: f64,
    x: Vec<f64>,
    before: Vec<f64>,
    between: Vec<f64>,
    // The last step whose end is on the grid of a fixed-step method.
    grid: u64,
    // Stops located since then.
    stops: usize,
    has_begun: bool,
    // The next event, as long as it is ahead and nothing has jumped.
    event: f64,
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("time", &self.time)
            .field("x", &self.x)
            .finish_non_exhaustive()
    }
}

impl Driver {
    /// Begins at a time with a state.
    pub fn new(solver: Box<dyn Solver>, time: f64, x: &[f64]) -> Self {
        let zeros = || vec![0.0; x.len()];
        Self {
            solver,
            start: time,
            time,
            x: x.to_vec(),
            before: zeros(),
            between: zeros(),
            grid: 0,
            stops: 0,
            has_begun: false,
            event: f64::NEG_INFINITY,
        }
    }

    /// Where the run stands.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// The state where the run stands.
    pub fn state(&self) -> &[f64] {
        &self.x
    }

    /// What the solver has spent.
    pub fn work(&self) -> Work {
        self.solver.work()
    }

    /// The solver.
    pub fn solver(&self) -> &dyn Solver {
        &*self.solver
    }

    /// Changes the state from outside; the solver forgets the past.
    pub fn replace(&mut self, x: &[f64]) {
        self.x.copy_from_slice(x);
        self.solver.restart();
    }

    /// Advances until a time, which is reached exactly. A sample at the very beginning is given
    /// when it is asked for.
    pub fn advance<S: System>(
        &mut self,
        system: &mut S,
        until: f64,
        samples: &mut Samples<'_>,
        observer: &mut dyn Observer<S>,
    ) -> Result<Ending, Failure> {
        if !self.has_begun {
            self.has_begun = true;
            system.settle(self.time, &mut self.x);
        }
        self.event = f64::NEG_INFINITY;
        self.emit_reached(system, samples, observer);
        while self.time < until {
            self.step(system, until, samples, observer)?;
            if !observer.kept(system, self.time, &self.x) {
                return Ok(Ending::Stopped);
            }
        }
        Ok(Ending::Reached)
    }

    /// One kept step, not beyond `until`, with its samples.
    fn step<S: System>(
        &mut self,
        system: &mut S,
        until: f64,
        samples: &mut Samples<'_>,
        observer: &mut dyn Observer<S>,
    ) -> Result<(), Failure> {
        if self.event <= self.time {
            self.event = system.next_event(self.time);
        }
        let event = self.event;
        let mut limit = until.min(event);
        let mut on_grid = None;
        if let Some(step) = self.solver.fixed_step() {
            let next = self.next_on_grid(step);
            let point = self.start + next as f64 * step;
            // An event that rounding puts next to the grid is on it: no step of a millionth.
            if limit >= point - SAME * step {
                on_grid = Some(next);
                if limit > point + SAME * step {
                    limit = point;
                }
            }
        }
        let end = self.take(system, limit)?;
        if let Some(next) = on_grid
            && end == limit
        {
            self.grid = next;
            self.stops = 0;
        }
        while samples.next < end {
            self.solver.interpolate(samples.next, &mut self.between);
            observer.sample(system, samples.next, &self.between);
            samples.advance();
        }
        self.time = end;
        let has_jumped = system.settle(end, &mut self.x);
        if has_jumped || end >= event {
            self.solver.restart();
            self.event = f64::NEG_INFINITY;
        }
        self.emit_reached(system, samples, observer);
        Ok(())
    }

    fn next_on_grid(&self, step: f64) -> u64 {
        let mut next = self.grid + 1;
        while self.start + next as f64 * step <= self.time + SAME * step {
            // Only after `replace` or a change of step would more than one be skipped.
            let behind = (self.time - self.start) / step - next as f64;
            next += (behind.floor() as u64).max(1);
        }
        next
    }

    /// Samples at the present time, or so little after it that only rounding lies between.
    fn emit_reached<S: System>(
        &mut self,
        system: &mut S,
        samples: &mut Samples<'_>,
        observer: &mut dyn Observer<S>,
    ) {
        while samples.next <= self.time + samples.slack {
            observer.sample(system, self.time, &self.x);
            samples.advance();
        }
    }

    /// Takes one step; where it runs far past a stop, takes it again so that it ends just behind the
    /// stop, if the method does that.
    fn take<S: System>(&mut self, system: &mut S, limit: f64) -> Result<f64, Failure> {
        self.before.copy_from_slice(&self.x);
        let mut end = self.solver.step(system, self.time, &mut self.x, limit)?;
        if end.is_nan() || end <= self.time {
            // A step below the rounding of the time would be taken for ever.
            self.x.copy_from_slice(&self.before);
            let step = end - self.time;
            return Err(Failure::plain(FailureKind::StepTooSmall, self.time, step, None));
        }
        let has_enough = self.solver.fixed_step().is_some() && self.stops >= STOPS_PER_STEP;
        let tries = if has_enough { 0 } else { self.solver.tries_at_stops() };
        let mut has_met_stop = false;
        for _ in 0..tries {
            // Not a number would say nothing: then the step stays.
            let is_past = system.overrun(end, &self.x) > 1.0;
            if !is_past {
                break;
            }
            let Some(shorter) = self.locate(system, end) else { break };
            self.x.copy_from_slice(&self.before);
            self.solver.take_back();
            end = self.solver.step(system, self.time, &mut self.x, shorter)?;
            has_met_stop = true;
        }
        self.stops += usize::from(has_met_stop);
        Ok(end)
    }

    /// Where within the last step the stop is passed by half of what may be passed, by bisection of
    /// the continuous extension; none when time cannot be divided further.
    fn locate<S: System>(&mut self, system: &mut S, end: f64) -> Option<f64> {
        let (mut early, mut late) = (self.time, end);
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (early + late);
            if middle <= early || middle >= late {
                break;
            }
            self.solver.interpolate(middle, &mut self.between);
            let past = system.overrun(middle, &self.between);
            if past > 0.5 {
                late = middle;
                if past <= 1.0 {
                    break;
                }
            } else {
                early = middle;
                if past > 0.0 {
                    late = middle;
                    break;
                }
            }
        }
        (late > self.time && late < end).then_some(late)
    }
}

/// A whole run from one time to another; `x` is left where the run ended, also when it failed.
pub fn integrate<S: System>(
    system: &mut S,
    solver: Box<dyn Solver>,
    from: f64,
    until: f64,
    x: &mut [f64],
    mut samples: Samples<'_>,
    observer: &mut dyn Observer<S>,
) -> (Result<Ending, Failure>, Work) {
    let mut driver = Driver::new(solver, from, x);
    let ending = driver.advance(system, until, &mut samples, observer);
    x.copy_from_slice(driver.state());
    (ending, driver.work())
}
