// Links what an app links.
import Sallyport

print("linked")
