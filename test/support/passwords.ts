/** The cheapest parameters of scrypt, so that passwords take tests no time. */
export const CHEAP = { n: 2, r: 1, p: 1 };
