/*
 * A mutual exclusion that fails: test the lock, then set it, in two steps.
 * Both processes find it open.  The run shown is a shortest one: each tests,
 * sets and counts itself inside, and the assertion of the second fails.
 *
 * `atomic { !locked -> locked = true }` mends it: -DFIXED.
 *
 * expect: violated
 * exit: 1
 * violation: assertion depth 6
 * scale: FIXED=1 states 9 transitions 10
 */

bool locked;
byte n_inside;

active [2] proctype process()
{
	do
	::
#ifdef FIXED
		atomic { !locked -> locked = true };
#else
		!locked -> locked = true;
#endif
		n_inside++;
		assert(n_inside == 1);
		n_inside--;
		locked = false
	od
}
