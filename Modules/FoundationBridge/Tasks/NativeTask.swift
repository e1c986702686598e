internal import Dispatch
internal import Foundation
internal import FoundationNetworking
internal import SallyportCore

/// What a load needs to know of its task but FoundationNetworking does not publish: the queue on which the client must
/// be called, the body of an upload, and whether a delegate or a completion handler takes the answer.
///
/// Read by reflection, which finds stored properties by their names, on the task's work queue, where
/// FoundationNetworking itself reads and writes them. If a property is missing, the task ends or the case that is
/// always correct is assumed; a test runs against the installed toolchain.
struct NativeTask {
    enum Body {
        case none
        case bytes([UInt8])
        case file(String)
        case stream(InputStream)
        /// The session's delegate is asked for a stream each time the body is sent.
        case asked
    }

    let task: URLSessionTask
    let session: URLSession
    /// The queue on which the client is called and the task calls its protocol.
    let queue: DispatchQueue
    let body: Body

    /// - Throws: `unsupportedScheme` for a task whose answer a protocol cannot deliver; `internalFailure` if the task's
    ///   properties differ from those of the known versions.
    init(_ task: URLSessionTask) throws(LoadError) {
        guard task is URLSessionDataTask else {
            throw LoadError(.unsupportedScheme, at: .routing, "Only data and upload tasks are bridged.")
        }
        guard let queue = StoredProperty.value("workQueue", of: task) as? DispatchQueue,
            let session = StoredProperty.value("session", of: task) as? URLSession
        else { throw Self.unknownVersion }
        self.task = task
        self.queue = queue
        self.session = session
        body = try Self.body(of: task)
    }

    /// The delegate's queue if it takes the body in parts; nil if the body must be delivered at once, because a
    /// completion handler gets only the last part.
    var delegateQueue: OperationQueue? {
        guard session.delegate is any URLSessionDataDelegate,
            let registry = StoredProperty.value("taskRegistry", of: session),
            let behaviours = StoredProperty.value("behaviours", of: registry)
        else { return nil }
        for entry in Mirror(reflecting: behaviours).children {
            let pair = Mirror(reflecting: entry.value).children.map(\.value)
            guard pair.count == 2, pair[0] as? Int == task.taskIdentifier else { continue }
            return "\(pair[1])" == "callDelegate" ? session.delegateQueue : nil
        }
        return nil
    }

    private static func body(of task: URLSessionTask) throws(LoadError) -> Body {
        guard let known = StoredProperty.value("knownBody", of: task) else { throw unknownVersion }
        guard let body = Mirror(reflecting: known).children.first?.value else { return .asked }
        guard let content = Mirror(reflecting: body).children.first else {
            guard "\(body)" == "none" else { throw unknownVersion }
            return .none
        }
        switch content.value {
        case let data as DispatchData: return .bytes([UInt8](data))
        case let file as URL: return .file(file.path)
        case let stream as InputStream: return .stream(stream)
        default: throw unknownVersion
        }
    }

    private static var unknownVersion: LoadError {
        LoadError(.internalFailure, at: .request, "This version of FoundationNetworking is not known to the bridge.")
    }
}

/// A stored property of an object or of its superclasses.
enum StoredProperty {
    static func value(_ name: String, of object: Any) -> Any? {
        var mirror: Mirror? = Mirror(reflecting: object)
        while let current = mirror {
            // Properties before the wanted one are read too, those after it are not.
            if let child = current.children.first(where: { $0.label == name }) { return child.value }
            mirror = current.superclassMirror
        }
        return nil
    }
}
