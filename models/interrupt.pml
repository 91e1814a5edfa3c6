/*
 * `unless` as an interrupt.  A worker computes in small steps, and before each
 * of them its escape is tried: if the line is raised, the handler runs instead
 * and the computation starts over.  No interrupt divides a `d_step`.
 *
 * The two halves of a record differ only while they are cleared one by one; an
 * interrupt between the two assignments leaves that to its handler.
 *
 * expect: verified
 * states: 3192
 * transitions: 8176
 * depth: 72
 * exit: 0
 */

#ifndef STEPS
#define STEPS 6
#endif

bool raised;
byte n_handled;
byte low, high;            /* a record of two halves */

active proctype device()
{
	do
	:: !raised -> raised = true
	od
}

active proctype worker()
{
	byte i;

again:	{
		i = 0;
		do
		:: i < STEPS ->
			d_step { low = (low + 1) % 8; high = low };
			i++
		:: else -> break
		od;
		low = 0;
		high = 0
	} unless {
		raised ->
		n_handled = (n_handled + 1) % 4;
		d_step { high = low; raised = false }
	};
	goto again
}

active proctype observer()
{
	/* Between `low = 0` and `high = 0` the halves may differ. */
	do
	:: assert(low == high || low == 0)
	od
}
