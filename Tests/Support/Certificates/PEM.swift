internal import SwiftASN1

/// Certificates as programs take them from files.
package enum PEM {
    package static func certificate(_ der: [UInt8]) -> String {
        PEMDocument(type: "CERTIFICATE", derBytes: der).pemString + "\n"
    }
}
