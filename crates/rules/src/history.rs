//! A hash table that finds earlier turns by the key that the ko rule compares.

/// A table of turn numbers with open addressing. Turns are removed in the reverse order of insertion, so clearing a
/// turn's slot is enough to remove it: no older turn was stored past it.
#[derive(Debug)]
pub(crate) struct TurnTable {
    /// Turn number plus one in the lower 24 bits, part of the key above them; 0 if free. The length is a power of two.
    slots: Vec<u32>,
    used: usize,
}

/// The largest turn number that fits into a slot.
const MAX_TURN: usize = TURN as usize - 1;
const TURN: u32 = (1 << 24) - 1;

/// Bits of the key that are not used to choose the slot.
#[inline]
fn tag(key: u128) -> u32 {
    ((key >> 64) as u32) << 24
}

impl TurnTable {
    /// An empty table with room for `turns` turns before it has to grow.
    pub(crate) fn with_room_for(turns: usize) -> TurnTable {
        TurnTable {
            slots: vec![0; (2 * turns).next_power_of_two().max(16)],
            used: 0,
        }
    }

    #[inline]
    fn slot_of(&self, key: u128) -> usize {
        key as usize & (self.slots.len() - 1)
    }

    /// Stores a turn under a key; `key_of` returns the keys of stored turns, which are needed if the table grows.
    #[inline]
    pub(crate) fn insert(&mut self, key: u128, turn: usize, key_of: impl Fn(usize) -> u128) {
        assert!(turn < MAX_TURN, "a game has at most {MAX_TURN} turns");
        if 2 * (self.used + 1) > self.slots.len() {
            self.grow(key_of);
        }
        self.place(key, turn);
        self.used += 1;
    }

    #[inline]
    fn place(&mut self, key: u128, turn: usize) {
        let mask = self.slots.len() - 1;
        let mut slot = self.slot_of(key);
        while self.slots[slot & mask] != 0 {
            slot += 1;
        }
        self.slots[slot & mask] = tag(key) | (turn as u32 + 1);
    }

    #[cold]
    fn grow(&mut self, key_of: impl Fn(usize) -> u128) {
        let turns = self.turns();
        let length = 2 * self.slots.len();
        self.slots.clear();
        self.slots.resize(length, 0);
        for turn in turns {
            self.place(key_of(turn), turn);
        }
    }

    /// Removes the turn that was stored last, given the key it was stored under.
    #[inline]
    pub(crate) fn remove_last(&mut self, key: u128, turn: usize) {
        let mask = self.slots.len() - 1;
        let mut slot = self.slot_of(key);
        while self.slots[slot & mask] & TURN != turn as u32 + 1 {
            debug_assert!(self.slots[slot & mask] != 0, "turn {turn} is not in the table");
            slot += 1;
        }
        self.slots[slot & mask] = 0;
        self.used -= 1;
    }

    /// The earliest stored turn with a key.
    #[inline]
    pub(crate) fn find(&self, key: u128, key_of: impl Fn(usize) -> u128) -> Option<usize> {
        let mask = self.slots.len() - 1;
        let mut slot = self.slot_of(key);
        loop {
            let stored = self.slots[slot & mask];
            if stored == 0 {
                return None;
            }
            if stored & !TURN == tag(key) {
                let turn = (stored & TURN) as usize - 1;
                if key_of(turn) == key {
                    return Some(turn);
                }
            }
            slot += 1;
        }
    }

    /// All stored turns with a key.
    pub(crate) fn find_all(&self, key: u128, key_of: impl Fn(usize) -> u128) -> Vec<usize> {
        let mask = self.slots.len() - 1;
        (self.slot_of(key)..)
            .map(|slot| self.slots[slot & mask])
            .take_while(|&stored| stored != 0)
            .map(|stored| (stored & TURN) as usize - 1)
            .filter(|&turn| key_of(turn) == key)
            .collect()
    }

    /// The stored turns in ascending order.
    pub(crate) fn turns(&self) -> Vec<usize> {
        let stored = self.slots.iter().filter(|&&slot| slot != 0);
        let mut turns: Vec<usize> = stored.map(|&slot| (slot & TURN) as usize - 1).collect();
        turns.sort_unstable();
        turns
    }

    /// Heap memory in bytes, not counting the struct itself.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<u32>()
    }

    /// The number of stored turns.
    pub(crate) fn len(&self) -> usize {
        self.used
    }
}

impl Clone for TurnTable {
    fn clone(&self) -> TurnTable {
        TurnTable {
            slots: self.slots.clone(),
            used: self.used,
        }
    }

    fn clone_from(&mut self, source: &TurnTable) {
        self.slots.clone_from(&source.slots);
        self.used = source.used;
    }
}
