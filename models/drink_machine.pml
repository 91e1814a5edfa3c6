/*
 * A machine that gives a drink for a coin.  When the drink jams it tries once
 * more, and now and then both fall.
 *
 * The never claim follows a run and reaches its end if a second drink comes
 * without another coin: what happens in which order cannot be seen in a single
 * state.
 *
 * -DMENDED leaves the second attempt out.
 *
 * expect: violated
 * exit: 1
 * violation: claim depth 7
 * scale: MENDED=1 states 6 transitions 6
 */

bool paid, delivers;

active proctype customer()
{
	do
	:: !paid && !delivers -> paid = true
	od
}

active proctype machine()
{
	do
	:: paid ->
		delivers = true;
		paid = false;
#ifndef MENDED
		if
		:: delivers = false;
			delivers = true
		:: skip
		fi;
#endif
		delivers = false
	od
}

never {
waits:	do
	:: !delivers
	:: delivers -> goto first
	od;
first:	do
	:: delivers
	:: !delivers && paid -> goto waits
	:: !delivers && !paid -> goto done
	od;
done:	do
	:: !delivers && !paid
	:: paid -> goto waits
	:: delivers && !paid -> break
	od
}
