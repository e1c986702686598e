package import Foundation

/// The sources of the repository, with the mutants woven in.
package struct WovenSources {
    /// By path, relative to the repository; only files with mutants are included.
    package let texts: [String: String]

    package init(_ mutants: [Mutant], in repository: URL) throws {
        var texts: [String: String] = [:]
        for (path, mutants) in Dictionary(grouping: mutants, by: \.file).sorted(by: { $0.key < $1.key }) {
            guard let source = try? String(contentsOf: repository.appending(path: path), encoding: .utf8) else {
                throw Drift(mutants[0].name, "there is no file \(path)")
            }
            let isC = path.hasSuffix(".c")
            guard isC || path.hasSuffix(".swift") else {
                throw Drift(mutants[0].name, "its file is neither Swift nor C")
            }
            texts[path] = try Weaving(source, mutants, isC: isC).source
            if !isC { texts[Self.module(of: path) + "/SallyportMutant.swift"] = Weaving.choice }
        }
        self.texts = texts
    }

    /// The module's folder of a file, such as `Modules/Core`.
    private static func module(of path: String) -> String {
        path.split(separator: "/").prefix(2).joined(separator: "/")
    }
}
