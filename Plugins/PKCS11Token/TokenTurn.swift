package import SallyportBase

/// One call of any module at a time: a login is the whole process's, and ends with a token's last session.
package enum TokenTurn {
    package static let lock = Lock<Void>(())
}
