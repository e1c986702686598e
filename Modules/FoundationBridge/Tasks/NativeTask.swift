internal import Dispatch
internal import Foundation
internal import FoundationNetworking
internal import SallyportCore

/// What a load has to know of its task and FoundationNetworking keeps to itself: the queue on which the client must
/// be called, the body of an upload, and whether a delegate or a completion handler takes the answer.
///
/// Read by reflection, which finds stored properties by their names, on the task's work queue, where FoundationNetworking
/// itself reads and writes them. What is not found ends the task, or is taken for the case that is right for all; a test
/// runs against the toolchain at hand.
struct NativeTask {
    enum Body {
        case none
        case bytes([UInt8])
        case file(String)
        case stream(InputStream)
        /// The session's delegate is asked for a stream, each time that the body is sent.
        case asked
    }

    let task: URLSessionTask
    let session: URLSession
    /// Where the client is called, and where the task calls its protocol.
    let queue: DispatchQueue
    let body: Body

    /// - Throws: `unsupportedScheme` for a task whose answer a protocol cannot deliver; `internalFailure` where the
    ///   task is not as it was in the versions that are known.
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

    /// The queue of the delegate, where one takes the body in parts; nil where it must come at once: a completion
    /// handler gets only what was handed over last.
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

/// A stored property of an object, its superclasses' included.
enum StoredProperty {
    static func value(_ name: String, of object: Any) -> Any? {
        var mirror: Mirror? = Mirror(reflecting: object)
        while let current = mirror {
            // Properties before the one that is looked for are read too, those after it are not.
            if let child = current.children.first(where: { $0.label == name }) { return child.value }
            mirror = current.superclassMirror
        }
        return nil
    }
}
