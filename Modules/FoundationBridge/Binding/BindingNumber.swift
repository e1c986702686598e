internal import FoundationNetworking

/// A number that is a type.
///
/// FoundationNetworking takes protocol *classes*, creates their objects itself and does not tell them which session
/// they serve. So each binding has its own class, ``BridgedProtocol`` with the binding's number as its generic
/// argument: every object of the class serves the one session that the class stands for.
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
