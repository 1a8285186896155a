// Package insight remembers what a responder asks about: who was refused and
// who causes it, what another level or another limit would have refused in the
// last ten minutes, what became of one request, which requests run for nobody,
// and what happened when.
//
// A Recorder is an Observer of the pipeline, in front of another one. Its
// memory is bounded and does not grow with callers, routes or traffic: of each
// second a fair sample of its requests is kept, of each refusal the last few
// thousand, and of callers and routes a sketch that never misses one with more
// than a 64th of its shard's traffic, and may overrate one by as much as it
// says.
//
// The figures are this worker's. What is reckoned from samples is an estimate;
// each answer says how many requests it was made of.
//
// Nothing here decides anything. The zero Recorder is not usable, see New. All
// methods may be called concurrently. A decision costs some tens of
// nanoseconds, nothing allocates on the path of requests, and a Recorder takes
// about 6 MB.
package insight
