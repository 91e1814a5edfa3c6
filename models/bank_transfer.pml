/*
 * Two transfers between two accounts, in opposite directions.  Each locks the
 * account it takes from, then the one it gives to: an invalid end state, where
 * both hold one lock and wait for the other.
 *
 * Locking in order of account numbers mends it: -DORDERED.
 *
 * expect: violated
 * exit: 1
 * violation: deadlock depth 3
 * scale: ORDERED=1 states 42 transitions 50
 */

byte balance[2] = 5;
bool locked[2];

inline lock(account)   { atomic { !locked[account] -> locked[account] = true } }
inline unlock(account) { locked[account] = false }

proctype transfer(byte from; byte to; byte amount)
{
#ifdef ORDERED
	byte first = (from < to -> from : to);
	byte second = (from < to -> to : from);
#else
	byte first = from;
	byte second = to;
#endif

	lock(first);
	lock(second);
	if
	:: balance[from] >= amount ->
		balance[from] = balance[from] - amount;
		balance[to] = balance[to] + amount
	:: else
	fi;
	unlock(to);
	unlock(from)
}

init {
	atomic {
		run transfer(0, 1, 3);
		run transfer(1, 0, 4)
	};
	_nr_pr == 1;
	assert(balance[0] + balance[1] == 10)
}
