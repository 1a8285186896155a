package proxy

import "sync"

const copyBufferSize = 32 << 10

// buffers lends the space in which answers are copied.
type buffers struct{ pool sync.Pool }

var copyBuffers = buffers{sync.Pool{New: func() any { return new([copyBufferSize]byte) }}}

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte { return b.pool.Get().(*[copyBufferSize]byte)[:] }

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) { b.pool.Put((*[copyBufferSize]byte)(buffer)) }
