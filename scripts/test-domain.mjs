// In the place of tap's module async-hook-domain, which learns of every promise in order to say which test an uncaught error
// is of: a third of the tests' processor time. Without it such an error ends the file, and Node prints it with its stack.
export class Domain {
  destroy() {}
}
