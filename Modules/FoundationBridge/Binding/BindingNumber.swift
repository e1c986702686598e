internal import FoundationNetworking

/// A number that is a type.
///
/// FoundationNetworking is given protocol *classes*, makes their objects itself and tells these nothing of the session
/// that they serve. So each binding has a class of its own, ``BridgedProtocol`` with the binding's number as its
/// argument: whichever way a task comes to the class, it comes to the one session that the class stands for.
protocol BindingNumber {
    static var value: Int { get }
}

enum Zero: BindingNumber {
    static var value: Int { 0 }
}

enum Twice<Half: BindingNumber>: BindingNumber {
    static var value: Int { Half.value * 2 }
}

enum TwiceAndOne<Half: BindingNumber>: BindingNumber {
    static var value: Int { Half.value * 2 + 1 }
}

enum BindingNumbers {
    static func protocolClass(_ number: Int) -> URLProtocol.Type { protocolClass(typed(number)) }

    private static func protocolClass<Number: BindingNumber>(_: Number.Type) -> URLProtocol.Type {
        BridgedProtocol<Number>.self
    }

    static func typed(_ number: Int) -> any BindingNumber.Type {
        guard number > 0 else { return Zero.self }
        return number.isMultiple(of: 2) ? twice(typed(number / 2)) : twiceAndOne(typed(number / 2))
    }

    private static func twice<Half: BindingNumber>(_: Half.Type) -> any BindingNumber.Type { Twice<Half>.self }
    private static func twiceAndOne<Half: BindingNumber>(_: Half.Type) -> any BindingNumber.Type {
        TwiceAndOne<Half>.self
    }
}
