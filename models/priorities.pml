/*
 * Priority inversion, and its remedy.  In Promela a process moves only if no
 * process of higher priority can.  A task of high priority waits for a lock
 * that one of low priority holds; without a remedy a task of medium priority,
 * which has nothing to do with the lock, keeps the holder from running.
 *
 * Here the holder inherits the priority of whoever waits, by `set_priority`,
 * so that the medium task never runs while the high one waits.  With
 * -DNO_REMEDY it does.  Tasks wake up by interrupts, at any step of another.
 *
 * expect: verified
 * states: 502
 * transitions: 689
 * depth: 43
 * exit: 0
 */

#define LOW    1
#define MEDIUM 5
#define HIGH   9

bool held;
byte holder;
bool high_waits;
bool medium_ready, high_ready;

/* A step of work, during which an alarm may go off. */
inline work(n)
{
	n = 3;
	do
	:: n > 0 ->
		if
		:: skip
		:: medium_ready = true
		:: high_ready = true
		fi;
		n--
	:: else -> break
	od
}

inline acquire()
{
	atomic { !held -> held = true; holder = _pid }
}

inline release(own)
{
	atomic { held = false; holder = 0; set_priority(_pid, own) }
}

active proctype low() priority LOW
{
	byte n;

	do
	:: acquire();
		work(n);
		release(LOW)
	:: work(n)
	od
}

active proctype medium() priority MEDIUM
{
	byte n;

	do
	:: medium_ready ->
		work(n);
		assert(!high_waits);
		medium_ready = false
	od
}

active proctype high() priority HIGH
{
	byte n;

	do
	:: high_ready ->
		atomic {
			high_waits = true;
#ifndef NO_REMEDY
			if
			:: held -> set_priority(holder, HIGH)
			:: else
			fi
#endif
		};
		acquire();
		high_waits = false;
		work(n);
		release(HIGH);
		high_ready = false
	od
}
