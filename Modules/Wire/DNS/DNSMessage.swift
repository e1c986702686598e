package import SallyportCore

/// A DNS query or answer (RFC 1035 §4) as DNS over HTTPS carries it (RFC 8484): one question, A, AAAA, CNAME, SRV.
package struct DNSMessage: Sendable, Hashable {
    /// The longest message, in bytes.
    package static let maximumLength = 65_535
    /// The most records in a message, in all sections together.
    package static let maximumRecords = 512

    package enum ResponseCode: UInt8, Sendable, Hashable {
        case noError = 0
        case formatError = 1
        case serverFailure = 2
        case nameError = 3
        case notImplemented = 4
        case refused = 5
    }

    package enum RecordType: UInt16, Sendable, Hashable, CaseIterable {
        case a = 1
        case cname = 5
        case aaaa = 28
        case srv = 33
    }

    package struct Question: Sendable, Hashable {
        package var name: DNSName
        package var type: RecordType

        package init(_ name: DNSName, _ type: RecordType) {
            self.name = name
            self.type = type
        }
    }

    package struct Record: Sendable, Hashable {
        package var name: DNSName
        /// In seconds.
        package var timeToLive: UInt32
        package var data: Data

        package init(_ name: DNSName, timeToLive: UInt32, _ data: Data) {
            self.name = name
            self.timeToLive = timeToLive
            self.data = data
        }
    }

    package enum Data: Sendable, Hashable {
        /// An A or AAAA record, depending on the address.
        case address(IPAddress)
        case canonicalName(DNSName)
        case service(priority: UInt16, weight: UInt16, port: UInt16, target: DNSName)
    }

    package var id: UInt16
    package var isResponse: Bool
    package var isTruncated: Bool
    package var recursionDesired: Bool
    package var recursionAvailable: Bool
    package var code: ResponseCode
    package var question: Question
    package var answers: [Record]

    /// A query. RFC 8484 §4.1 recommends id 0 over HTTPS.
    package init(query question: Question, id: UInt16 = 0) {
        self.id = id
        isResponse = false
        isTruncated = false
        recursionDesired = true
        recursionAvailable = false
        code = .noError
        self.question = question
        answers = []
    }

    /// The answer to a query.
    package init(answering query: DNSMessage, code: ResponseCode = .noError, answers: [Record] = []) {
        self = query
        isResponse = true
        recursionAvailable = true
        self.code = code
        self.answers = answers
    }
}
