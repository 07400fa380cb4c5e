//! Units of a kind side by side: who stands beside whom, where their numbers are, and the tables that
//! tell compiled code so.
//!
//! Numbers that units of a class have at the same place lie beside each other in memory, so that code
//! takes them at once. A number belongs to two classes or more (a line end has two sides), and lies
//! right for both when their units stand in the same order: so classes are put in order one after the
//! other, each by those it shares numbers with. Where a bundle's numbers do not lie beside each other
//! after all, they are copied together before it and back after it.

use fluxline_core::program::Program;
use fluxline_core::program::apart::{Apart, Stage, reads};
use fluxline_core::trace::Op;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Units that are done together: of one kind, in one stage, none waiting for another.
#[derive(Debug)]
pub struct Class {
    /// Its kind.
    pub kind: u32,
    /// The units, in the order in which they stand.
    pub members: Vec<u32>,
}

/// Which of a kind's numbers it reads, and which it changes.
#[derive(Debug)]
pub struct Use {
    /// Those that it reads.
    pub reads: Vec<bool>,
    /// Those that it changes.
    pub writes: Vec<bool>,
}

impl Use {
    /// That of a program of one unit.
    pub fn of(program: &Program) -> Self {
        let is_kept =
            |(slot, &node): (usize, &u32)| program.ops[node as usize] == Op::Load(slot as u32);
        Self {
            reads: reads(program),
            writes: program.finals.iter().enumerate().map(|end| !is_kept(end)).collect(),
        }
    }

    /// The numbers that matter.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.reads.len()).filter(|&k| self.reads[k] || self.writes[k])
    }
}

/// The classes of a circuit, in the order in which they are done.
pub fn classes(apart: &Apart, uses: &[Use], numbers: usize) -> Vec<Class> {
    // Since the stage began: after which level a number was written or read.
    let mut written = vec![0_u32; numbers];
    let mut read = vec![0_u32; numbers];
    let mut stage = Stage::Signals;
    let mut classes: BTreeMap<(Stage, u32, u32), Vec<u32>> = BTreeMap::new();
    for (index, member) in apart.members.iter().enumerate() {
        if member.stage != stage {
            stage = member.stage;
            written.fill(0);
            read.fill(0);
        }
        let own = &uses[member.kind as usize];
        let mut level = 0;
        for k in own.places() {
            let slot = member.slots[k] as usize;
            level = level.max(written[slot]);
            if own.writes[k] {
                level = level.max(read[slot]);
            }
        }
        for k in own.places() {
            let slot = member.slots[k] as usize;
            if own.reads[k] {
                read[slot] = read[slot].max(level + 1);
            }
            if own.writes[k] {
                written[slot] = level + 1;
            }
        }
        classes.entry((stage, level, member.kind)).or_default().push(index as u32);
    }
    classes.into_iter().map(|((_, _, kind), members)| Class { kind, members }).collect()
}

/// Puts the units of all classes in order, and tells in which order classes were put.
pub fn put_in_order(
    classes: &mut [Class],
    apart: &Apart,
    uses: &[Use],
    numbers: usize,
) -> Vec<usize> {
    // Who has each number, and as which of its own.
    let mut holders: Vec<Vec<(u32, u32)>> = vec![Vec::new(); numbers];
    for (at, class) in classes.iter().enumerate() {
        for &member in &class.members {
            for k in uses[class.kind as usize].places() {
                let slot = apart.members[member as usize].slots[k] as usize;
                holders[slot].push((at as u32, k as u32));
            }
        }
    }
    const NONE: u32 = u32::MAX;
    let mut rank = vec![NONE; numbers];
    // How many ranked numbers each class has.
    let mut touched = vec![0_usize; classes.len()];
    let mut open: Vec<usize> = (0..classes.len()).collect();
    let mut order = Vec::with_capacity(classes.len());
    while !open.is_empty() {
        let next = (0..open.len())
            .max_by_key(|&i| (touched[open[i]], classes[open[i]].members.len(), open.len() - i))
            .unwrap_or(0);
        let at = open.remove(next);
        let class = &mut classes[at];
        let own = &uses[class.kind as usize];
        // Those whose numbers are held by the same classes stand together; then as those stand.
        class.members.sort_by_cached_key(|&member| {
            let slots = &apart.members[member as usize].slots;
            let mut hasher = DefaultHasher::new();
            own.places().for_each(|k| holders[slots[k] as usize].hash(&mut hasher));
            let nearest = own.places().map(|k| rank[slots[k] as usize]).min().unwrap_or(NONE);
            (hasher.finish(), nearest, member)
        });
        for (i, &member) in class.members.iter().enumerate() {
            let slots = &apart.members[member as usize].slots;
            for k in own.places() {
                let slot = slots[k] as usize;
                if rank[slot] == NONE {
                    rank[slot] = i as u32;
                    for &(holder, _) in &holders[slot] {
                        touched[holder as usize] += 1;
                    }
                }
            }
        }
        order.push(at);
    }
    order
}

/// Memory in which all numbers are, and what is where.
#[derive(Debug)]
pub struct Memory {
    lanes: usize,
    /// Place of each number of the state; none where nobody needs it.
    pub place: Vec<Option<u32>>,
    /// Whether a place belongs to a number of the state.
    is_owned: Vec<bool>,
    /// What is copied once, before the first step: where to, where from.
    pub once: Vec<(u32, u32)>,
}

/// Where compiled code finds what it needs for a bundle.
#[derive(Debug, Default)]
pub struct Bundle {
    /// Where the numbers of the kind begin.
    pub at: Vec<u32>,
    /// Copied before: where to, where from.
    pub before: Vec<(u32, u32)>,
    /// Copied after.
    pub after: Vec<(u32, u32)>,
}

impl Memory {
    /// Lays out numbers class by class.
    pub fn new(
        lanes: usize,
        classes: &[Class],
        order: &[usize],
        apart: &Apart,
        uses: &[Use],
        numbers: usize,
    ) -> Self {
        let mut memory =
            Self { lanes, place: vec![None; numbers], is_owned: Vec::new(), once: Vec::new() };
        for &at in order {
            let class = &classes[at];
            for k in uses[class.kind as usize].places() {
                memory.begin_row();
                for &member in &class.members {
                    memory.add(apart.members[member as usize].slots[k]);
                }
            }
        }
        memory.begin_row();
        for &(to, from, _) in &apart.copies {
            memory.add(to);
            memory.add(from);
        }
        memory.begin_row();
        memory
    }

    /// How many places there are.
    pub fn len(&self) -> usize {
        self.is_owned.len()
    }

    fn begin_row(&mut self) {
        let len = self.is_owned.len().next_multiple_of(self.lanes);
        self.is_owned.resize(len, false);
    }

    fn add(&mut self, slot: u32) {
        let place = &mut self.place[slot as usize];
        if place.is_none() {
            *place = Some(self.is_owned.len() as u32);
            self.is_owned.push(true);
        }
    }

    /// Room for rows that belong to no number of the state.
    pub fn room(&mut self, rows: usize) -> u32 {
        let begin = self.is_owned.len();
        self.is_owned.resize(begin + rows * self.lanes, false);
        begin as u32
    }

    /// The place of a number that somebody has.
    pub fn of(&self, slot: u32) -> u32 {
        self.place[slot as usize].unwrap_or(0)
    }

    /// Where a bundle finds its numbers; `is_fixed` tells which of them nobody writes.
    pub fn bundle(
        &mut self,
        members: &[u32],
        apart: &Apart,
        own: &Use,
        is_fixed: &dyn Fn(u32) -> bool,
    ) -> Bundle {
        let lanes = self.lanes;
        let mut bundle = Bundle { at: vec![0; own.reads.len()], ..Bundle::default() };
        for k in own.places() {
            let slots: Vec<u32> =
                members.iter().map(|&m| apart.members[m as usize].slots[k]).collect();
            let places: Vec<u32> = slots.iter().map(|&slot| self.of(slot)).collect();
            let (first, last) = (places[0], places[places.len() - 1]);
            let is_row = places.iter().enumerate().all(|(i, &place)| place == first + i as u32);
            let rest = first as usize + places.len()..first as usize + lanes;
            // What the lanes without a unit do hurts nobody.
            let is_free = rest.clone().all(|place| self.is_owned.get(place) == Some(&false));
            if is_row && is_free {
                bundle.at[k] = first;
                self.once.extend(rest.map(|place| (place as u32, last)));
                continue;
            }
            let row = self.room(1);
            bundle.at[k] = row;
            let together =
                (0..lanes).map(|i| (row + i as u32, places.get(i).copied().unwrap_or(last)));
            match slots.iter().all(|&slot| is_fixed(slot)) {
                true => self.once.extend(together),
                false => bundle.before.extend(together),
            }
            if own.writes[k] {
                bundle.after.extend((row..).zip(&places).map(|(from, &to)| (to, from)));
            }
        }
        bundle
    }
}
