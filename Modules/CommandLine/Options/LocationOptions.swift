import ArgumentParser
import Glibc

/// A store: mostly that of an activated app.
struct StoreLocationOptions: CheckedArguments {
    @Option(help: ArgumentHelp("The app's store. Default: SALLYPORT_STORE of the environment.", valueName: "dir"))
    var store: String = Workplace.current.defaultStore

    func check() throws {
        guard !store.isEmpty else {
            throw ValidationError("Missing expected argument '--store <dir>', and SALLYPORT_STORE is not set")
        }
    }

    @OptionGroup(title: "Key of the store")
    var protector: ProtectorOptions
}

/// The data of a gateway.
struct DataLocationOptions: CheckedArguments {
    @Option(
        help: ArgumentHelp(
            "The gateway's data, a directory that only its owner may enter. Default: SALLYPORT_DATA of the environment.",
            valueName: "dir"))
    var data: String = getenv("SALLYPORT_DATA").map { String(cString: $0) } ?? ""

    func check() throws {
        guard !data.isEmpty else {
            throw ValidationError("Missing expected argument '--data <dir>', and SALLYPORT_DATA is not set")
        }
    }

    @OptionGroup(title: "Key of the data")
    var protector: ProtectorOptions
}
