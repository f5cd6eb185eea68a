/** Limits in words, for the messages of refusals. */
import { Budget } from "../gen/portico/auth/v1/lending.js";
import { type Limit, Per } from "../gen/portico/auth/v1/limits.js";
import { parseQuota, rateInWords } from "./limit.js";

/** `Limit ci allows key ptk_4fGh81 100 calls a second`. */
export function refusalInWords(limit: Limit, budget: Budget, subject: string): string {
  return `Limit ${limit.id} allows ${subjectInWords(limit.per, subject)} ${budgetInWords(limit, budget)}`;
}

function subjectInWords(per: Per, subject: string): string {
  switch (per) {
    case Per.ACCOUNT:
      return `account ${subject}`;
    case Per.KEY:
      return `key ${subject}`;
    case Per.ADDRESS:
      return `address ${subject}`;
    case Per.NAMESPACE:
      return `namespace ${subject}`;
    default:
      return "all callers together";
  }
}

function budgetInWords(limit: Limit, budget: Budget): string {
  if (budget === Budget.CONCURRENT) return `${limit.concurrent} calls at once`;
  if (budget === Budget.RATE) return rateInWords(limit.rate);
  const { calls, period } = parseQuota(limit.quota);
  return `${calls} calls a ${period}`;
}
