package process

import (
	"net"
	"syscall"
)

// peerOf is the user at the other end of a unix socket.
func peerOf(conn net.Conn) (uid uint32, ok bool) {
	socket, is := conn.(*net.UnixConn)
	if !is {
		return 0, false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, false
	}
	var peer *syscall.Ucred
	if raw.Control(func(fd uintptr) {
		peer, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}) != nil || err != nil {
		return 0, false
	}
	return peer.Uid, true
}
