// Links the store alone.
import SallyportSecureStore

print(SecureStore.self)
