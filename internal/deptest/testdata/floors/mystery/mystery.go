package mystery
