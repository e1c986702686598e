// What came before is not counted: callgrind zeroes its counts when this function is entered (`--zero-before`).
void sallyport_counting_begins(void);
