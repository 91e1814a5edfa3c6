/*
 * Producers and consumers around a ring buffer with two counting semaphores
 * and a lock.  `wait` and `signal` are `inline`s.  A ghost counter for each
 * producer checks that its items arrive in order, none lost, none twice.
 *
 * expect: verified
 * states: 20538
 * transitions: 51804
 * depth: 157
 * exit: 0
 */

#ifndef SLOTS
#define SLOTS 2
#endif
#define PRODUCERS 2
#define CONSUMERS 2
#define ITEMS 3                    /* of each producer, then from 0 again */

typedef Item {
	byte from;
	byte number;
}

Item buffer[SLOTS];
byte first, next;
byte n_free = SLOTS;
byte n_full;
bool lock;

byte expected[PRODUCERS];

inline wait(semaphore)   { atomic { semaphore > 0 -> semaphore-- } }
inline signal(semaphore) { semaphore++ }
inline enter()           { atomic { !lock -> lock = true } }
inline leave()           { lock = false }

active [PRODUCERS] proctype producer()
{
	byte number;

	do
	:: wait(n_free);
		enter();
		buffer[next].from = _pid;
		buffer[next].number = number;
		next = (next + 1) % SLOTS;
		leave();
		signal(n_full);
		number = (number + 1) % ITEMS
	od
}

active [CONSUMERS] proctype consumer()
{
	Item item;

	do
	:: wait(n_full);
		enter();
		d_step {
			item.from = buffer[first].from;
			item.number = buffer[first].number;
			buffer[first].from = 0;
			buffer[first].number = 0
		};
		assert(item.number == expected[item.from]);
		expected[item.from] = (expected[item.from] + 1) % ITEMS;
		d_step { item.from = 0; item.number = 0 };
		first = (first + 1) % SLOTS;
		leave();
		signal(n_free)
	od
}
