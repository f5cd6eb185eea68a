/** The cheapest scrypt there is, so that passwords cost tests nothing. */
export const CHEAP = { n: 2, r: 1, p: 1 };
