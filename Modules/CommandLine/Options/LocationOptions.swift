import ArgumentParser

/// A store: mostly that of an activated app.
struct StoreLocationOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The app's store.", valueName: "dir"))
    var store: String

    @OptionGroup(title: "Key of the store")
    var protector: ProtectorOptions
}

/// The data of a gateway.
struct DataLocationOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The gateway's data, a directory that only its owner may enter.", valueName: "dir"))
    var data: String

    @OptionGroup(title: "Key of the data")
    var protector: ProtectorOptions
}
