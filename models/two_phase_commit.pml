/*
 * Two-phase commit.  The coordinator asks all participants to vote, and
 * commits only if every one of them votes yes.  It may crash before it has
 * decided, in which case participants that voted yes stay blocked: a valid end
 * here, since blocking is what two-phase commit is known for.  Nobody commits
 * while another aborts.
 *
 * expect: verified
 * states: 106975
 * transitions: 392171
 * depth: 79
 * exit: 0
 * scale: N=5 states 952083 transitions 4186695
 */

#ifndef N
#define N 4
#endif

mtype:message = { prepare, yes, no, commit, abort };
mtype:state = { working, prepared, committed, aborted };

chan ask[N] = [1] of { mtype:message };
chan votes = [N] of { mtype:message };

mtype:state outcome[N] = working;
byte n_committed, n_aborted;

inline decide(me, what)
{
	atomic {
		outcome[me] = what;
		if
		:: what == committed -> n_committed++
		:: else -> n_aborted++
		fi;
		assert(n_committed == 0 || n_aborted == 0)
	}
}

proctype participant(byte me)
{
	ask[me]?prepare;
	if
	:: votes!no;
		decide(me, aborted)
	:: votes!yes;
		outcome[me] = prepared;
end_blocked:	if
		:: ask[me]?commit -> decide(me, committed)
		:: ask[me]?abort -> decide(me, aborted)
		fi
	fi
}

proctype coordinator()
{
	byte i;
	byte n_yes;
	mtype:message verdict = commit;

	for (i : 0 .. N - 1) {
		ask[i]!prepare
	}
	i = 0;
	do
	:: i < N ->
		if
		:: votes?yes -> n_yes++
		:: votes?no -> verdict = abort
		:: goto crashed
		fi;
		i++
	:: else -> break
	od;
	assert(verdict == abort || n_yes == N);
	for (i : 0 .. N - 1) {
		if
		:: outcome[i] != aborted -> ask[i]!verdict
		:: else
		fi
	}
crashed:	skip
}

init {
	byte i;

	atomic {
		run coordinator();
		for (i : 0 .. N - 1) {
			run participant(i)
		}
	}
}
