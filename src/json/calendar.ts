/** The Gregorian calendar, for the years that RFC 3339 can write: 1 to 9999. */

export const MIN_SECONDS = -62135596800; // 0001-01-01T00:00:00Z
export const MAX_SECONDS = 253402300799; // 9999-12-31T23:59:59Z

/** google.protobuf.Duration: 10,000 years. */
export const MAX_DURATION_SECONDS = 315576000000;

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const CYCLE = 146097; // days in 400 years
/** 0000-03-01 to 1970-01-01: years are counted from March, so that the leap day is their last. */
const EPOCH = 719468;

export function daysInMonth(year: number, month: number): number {
  return month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : DAYS[month - 1]!;
}

/** Days since 1970-01-01 (http://howardhinnant.github.io/date_algorithms.html, days_from_civil). */
export function daysSinceEpoch(year: number, month: number, day: number): number {
  const shifted = month > 2 ? year : year - 1;
  const cycle = Math.floor(shifted / 400);
  const yearOfCycle = shifted - cycle * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const leapDays = Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100);
  return cycle * CYCLE + yearOfCycle * 365 + leapDays + dayOfYear - EPOCH;
}

/** The date of a day counted from 1970-01-01, which must not be before the year 0. */
export function dateOf(day: number): { year: number; month: number; day: number } {
  const shifted = day + EPOCH;
  const cycle = Math.floor(shifted / CYCLE);
  const dayOfCycle = shifted - cycle * CYCLE;
  const yearOfCycle = Math.floor(
    (dayOfCycle - Math.floor(dayOfCycle / 1460) + Math.floor(dayOfCycle / 36524) - Math.floor(dayOfCycle / 146096)) /
      365,
  );
  const dayOfYear = dayOfCycle - (365 * yearOfCycle + Math.floor(yearOfCycle / 4) - Math.floor(yearOfCycle / 100));
  const month = Math.floor((5 * dayOfYear + 2) / 153);
  return {
    year: yearOfCycle + cycle * 400 + (month >= 10 ? 1 : 0),
    month: month < 10 ? month + 3 : month - 9,
    day: dayOfYear - Math.floor((153 * month + 2) / 5) + 1,
  };
}
