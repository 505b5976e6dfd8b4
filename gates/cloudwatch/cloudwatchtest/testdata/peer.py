"""Publishes, reads and is refused: prints what botocore makes of it as JSON."""
import datetime
import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

url, noon = sys.argv[1], datetime.datetime.fromisoformat(sys.argv[2])
client = boto3.client(
    "cloudwatch", endpoint_url=url, region_name="eu-west-1",
    aws_access_key_id="key", aws_secret_access_key="secret",
    config=Config(retries={"total_max_attempts": 1}, proxies={}),
)
dimensions = [{"Name": "Cluster", "Value": "orders"}, {"Name": "Azimuth & <tag>", "Value": "ü = 1"}]


def at(minute, second=0):
    return noon + datetime.timedelta(minutes=minute, seconds=second)


def query(id, stat, name="latency"):
    metric = {"Namespace": "App", "MetricName": name, "Dimensions": dimensions}
    return {"Id": id, "MetricStat": {"Metric": metric, "Period": 60, "Stat": stat}}


def ask(**more):
    return dict(StartTime=at(0), EndTime=at(60), ScanBy="TimestampAscending", **more)


def told(results):
    return [
        [r["Id"], r["Label"], r["StatusCode"], [t.strftime("%H:%M") for t in r["Timestamps"]], r["Values"]]
        for r in results
    ]


def refused(**more):
    try:
        client.get_metric_data(**ask(**more))
    except ClientError as e:
        return [e.response["Error"]["Code"], e.response["ResponseMetadata"]["HTTPStatusCode"]]
    return None


client.put_metric_data(Namespace="App", MetricData=[
    {"MetricName": "latency", "Dimensions": dimensions, "Timestamp": at(0, 1), "Value": 4.0},
    {"MetricName": "latency", "Dimensions": dimensions, "Timestamp": at(0, 2), "Values": [1.0, 2.0], "Counts": [3.0, 1.0]},
    {"MetricName": "latency", "Dimensions": dimensions[::-1], "Timestamp": at(1), "Value": 10.5, "Unit": "Milliseconds"},
    {"MetricName": "latency", "Dimensions": dimensions, "Timestamp": at(2),
     "StatisticValues": {"SampleCount": 4, "Sum": 20, "Minimum": 2, "Maximum": 9}},
])
queries = [query("sum", "Sum"), query("n", "SampleCount"), query("p50", "p50"), query("none", "Sum", "unknown")]
pages = client.get_paginator("get_metric_data").paginate(
    **ask(MetricDataQueries=[query("a", "Maximum")]), PaginationConfig={"PageSize": 2})
listed = client.list_metrics(Namespace="App", MetricName="latency")["Metrics"]
json.dump({
    "results": told(client.get_metric_data(**ask(MetricDataQueries=queries))["MetricDataResults"]),
    "pages": [told(page["MetricDataResults"]) for page in pages],
    "listed": [[m["Namespace"], m["MetricName"], sorted(d["Name"] for d in m["Dimensions"])] for m in listed],
    "refused": refused(MetricDataQueries=[query("A", "Sum")]),
    "token": refused(MetricDataQueries=[query("a", "Sum")], NextToken="x"),
}, sys.stdout)
