package good

func InTests() {}
