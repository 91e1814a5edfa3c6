/*
 * Setting up and closing a connection over a network that may drop anything.
 * The caller sends SYN and waits for SYN_ACK, the callee waits for the final
 * ACK; both repeat what they sent when nothing else happens (`timeout`), and
 * give up after TRIES attempts.
 *
 * Sequence numbers, one bit here, tell answers of this attempt from leftovers
 * of an earlier one.  Whoever believes in a connection shares its number with
 * the other side, if that believes in one too.
 *
 * expect: verified
 * states: 1729
 * transitions: 2232
 * depth: 66
 * exit: 0
 * scale: TRIES=4 states 2899 transitions 3784
 */

#ifndef TRIES
#define TRIES 3
#endif

mtype = { SYN, SYN_ACK, ACK, RESET };
mtype = { closed, opening, open };

chan to_callee = [2] of { mtype, bit };
chan to_caller = [2] of { mtype, bit };

mtype caller_is = closed;
mtype callee_is = closed;
bit caller_number;
bit callee_number;

/* Sends, or the network drops it. */
inline transmit(link, kind, number)
{
	if
	:: link!kind(number)
	:: skip
	fi
}

inline agree()
{
	assert(!(caller_is == open && callee_is == open)
		|| caller_number == callee_number)
}

active proctype caller()
{
	byte tries;
	bit n;

closed_state:
	atomic { caller_is = closed; tries = 0 };
end:	if
	:: skip -> atomic { caller_is = opening; caller_number = 1 - caller_number }
	fi;

opening_state:
	transmit(to_callee, SYN, caller_number);
	do
	:: to_caller?SYN_ACK(n) ->
		if
		:: n == caller_number -> break
		:: else
		fi
	:: to_caller?RESET(n)
	:: timeout ->
		tries++;
		if
		:: tries < TRIES -> goto opening_state
		:: else -> goto closed_state
		fi
	od;
	atomic { caller_is = open; agree() };
	transmit(to_callee, ACK, caller_number);
	do
	:: to_caller?SYN_ACK(n) -> transmit(to_callee, ACK, caller_number)
	:: to_caller?RESET(n) ->
		if
		:: n == caller_number -> goto closed_state
		:: else
		fi
	:: timeout -> goto closed_state
	od
}

active proctype callee()
{
	byte tries;
	bit n;

closed_state:
	atomic { callee_is = closed; tries = 0 };
end:	do
	:: to_callee?SYN(n) -> break
	:: to_callee?ACK(n)
	:: to_callee?RESET(n)
	od;
	atomic { callee_is = opening; callee_number = n };
	transmit(to_caller, SYN_ACK, callee_number);
	do
	:: to_callee?ACK(n) ->
		if
		:: n == callee_number -> break
		:: else
		fi
	:: to_callee?SYN(n) ->
		callee_number = n;
		transmit(to_caller, SYN_ACK, callee_number)
	:: timeout ->
		tries++;
		if
		:: tries < TRIES -> transmit(to_caller, SYN_ACK, callee_number)
		:: else -> goto closed_state
		fi
	od;
	atomic { callee_is = open; agree() };
	do
	:: to_callee?SYN(n) -> transmit(to_caller, RESET, callee_number); break
	:: to_callee?ACK(n)
	:: timeout -> break
	od;
	goto closed_state
}
