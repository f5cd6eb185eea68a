/** What each page of a part is given. */
export interface PageProps {
  /** What follows the part's own address, decoded: `["helloworld"]` for `/explore/helloworld`. */
  readonly segments: readonly string[];
}
