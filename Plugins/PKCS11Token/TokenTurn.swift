package import SallyportBase

/// Allows one call of any module at a time: a login applies to the whole process, and ends with a token's last session.
package enum TokenTurn {
    package static let lock = Lock<Void>(())
}
