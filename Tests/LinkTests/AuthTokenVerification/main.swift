// Links the verification of tokens alone.
import SallyportAuthTokenVerification

print(AuthTokenVerifier.self)
