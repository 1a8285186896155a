package comment
