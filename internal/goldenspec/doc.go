// Package goldenspec makes the input data that golden vectors name by a short
// text instead of carrying it, such as "rep:1:4096:9M+zero:8M+text:9:300000".
// It is for tests only.
//
// A spec is one or more parts joined by "+":
//
//	zero:LEN              LEN zero bytes
//	const:BYTE:LEN        LEN times BYTE
//	str:TEXT              TEXT itself (it cannot hold a "+")
//	hex:HEX               the bytes of HEX
//	xs64:SEED:LEN         outputs of the generator, 8 little-endian bytes each
//	rep:SEED:N:LEN        each output repeated to N bytes, then the next
//	ctr32:LEN             a counter 0, 1, 2 ... in 4 little-endian bytes each
//	text:SEED:LEN         words "w<output mod 1000>", twelve on a line
//
// Each is cut off at LEN. Numbers are decimal or 0x hexadecimal and may end in
// K (1024) or M (1048576). The generator is xorshift64*, whose state begins as
// SEED:
//
//	x ^= x >> 12; x ^= x << 25; x ^= x >> 27; output = x * 0x2545F4914F6CDD1D
//
// [Expand] turns a spec into bytes, [Bytes] does so in a test.
//
// What is not promised: any quality of the numbers, or specs beyond [MaxLen].
package goldenspec
