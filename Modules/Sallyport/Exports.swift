// Whoever imports the front door has the vocabulary of the parts that it hands out.
@_exported public import HTTPTypes
@_exported public import SallyportAuthToken
@_exported public import SallyportAuthorization
@_exported public import SallyportBase
@_exported public import SallyportCache
@_exported public import SallyportConnecting
@_exported public import SallyportCookies
@_exported public import SallyportCore
@_exported public import SallyportLoading
@_exported public import SallyportReachability
@_exported public import SallyportSecureStore
@_exported public import SallyportSocket
@_exported public import SallyportURLLoading

#if Kerberos
@_exported public import SallyportKerberos
#endif
